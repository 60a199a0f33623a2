// Functions of the library that meet constant memory here and active memory there; elements with padding, copied.
#include "selfcheck.h"
#include <algorithm>
#include <vector>

struct Cluster {
    double x = 0, y = 0;
    int count = 0;
};

static double weighted(const double *x, int n)
{
    const double fixed[] = {0.5, 2, 1.5};
    std::vector<double> a(x, x + n), w(fixed, fixed + 3);
    double s = 0;
    for (int i = 0; i < n; i++)
        s += w[i % 3] * a[i] * a[i];
    return s;
}

static double clustered(const double *x, int n)
{
    std::vector<Cluster> centres(2), next;
    for (int i = 0; i < 2; i++)
        centres[i].x = x[2 * i] + 0.037 * i;
    for (int round = 0; round < 2; round++) {
        next.assign(2, Cluster());
        for (int i = 0; i + 1 < n; i += 2) {
            auto nearest = std::min_element(centres.begin(), centres.end(), [&](const Cluster &a, const Cluster &b) {
                return fabs(a.x - 0.93 * x[i]) < fabs(b.x - 0.93 * x[i]);
            });
            Cluster &c = next[nearest - centres.begin()];
            c.x += x[i];
            c.y += x[i + 1] * x[i];
            c.count++;
        }
        for (Cluster &c : next)
            if (c.count)
                c.x /= c.count;
        centres = next;
    }
    return centres[0].x * centres[1].y + centres[1].x * centres[0].y;
}

int main()
{
    CHECK_GRADIENT(weighted, 5);
    CHECK_GRADIENT(clustered, 8);
    return failures();
}
