/* The best of many candidates, in a loop: the derivative is that of the candidate which the program has taken. */
#include "selfcheck.h"

static double apart(int d, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}
static const double points[6] = {0.3, 0.2, 1.1, 0.9, 0.6, 1.7};
/* Nearest centres: by a test, by fmin with either order of operands, and the number of the nearest. */
static double nearest(const double *c, int n)
{
    double cost = 0;
    for (int p = 0; p < 3; p++) {
        double least = 1e30;
        for (int j = 0; j < n / 2; j++) {
            double s = apart(2, points + 2 * p, c + 2 * j);
            if (s < least)
                least = s;
        }
        cost += least;
    }
    return cost;
}
static double nearest_fmin(const double *c, int n)
{
    double cost = 0;
    for (int p = 0; p < 3; p++) {
        double least = INFINITY, other = INFINITY;
        for (int j = 0; j < n / 2; j++)
            least = fmin(least, apart(2, points + 2 * p, c + 2 * j));
        for (int j = 0; j < n / 2; j++)
            other = fmin(sqrt(1 + apart(2, points + 2 * p, c + 2 * j)), other);
        cost += least * other;
    }
    return cost;
}
static double named(const double *c, int n)
{
    double least = 1e30;
    int at = -1;
    for (const double *p = c; p < c + n; p += 2) {
        double s = p[0] * p[0] + 3 * p[1];
        if (least > s)
            least = s, at = (int)(p - c);
    }
    return least * (1 + at);
}
/* Largest of smallest: a search within a search; the start is active, and is taken where no candidate is larger. */
static double saddle(const double *x, int n)
{
    double most = x[0] * x[1];
    for (int i = 0; i < n - 1; i++) {
        double least = 4 * x[n - 1];
        for (int j = 0; j < n; j++) {
            double s = sin(x[i] * x[j]) + x[i + 1];
            least = s < least ? s : least;
        }
        most = fmax(most, least * least);
    }
    return most;
}
/* A candidate on one of two ways; one that hangs on the best so far stays as it is. */
static double ways(const double *x, int n)
{
    double best = -1e30, far = 0.5;
    for (int i = 0; i < n; i++) {
        double s = x[i];
        for (int j = 0; j < n && x[i] > 0.7; j++)
            s += x[j] * x[i];
        best = best > s ? best : s;
    }
    for (int i = 0; i < n; i++) {
        double s = x[i] * x[i] + 0.125 * far;
        far = s > far ? s : far;
    }
    return best * far;
}

int main(void)
{
    CHECK_EVERY_WAY(nearest, 6);
    CHECK_EVERY_WAY(nearest_fmin, 6);
    CHECK_EVERY_WAY(named, 6);
    CHECK_EVERY_WAY(saddle, 5);
    CHECK_EVERY_WAY(ways, 5);
    return failures();
}
