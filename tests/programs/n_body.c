/* Particles in structs, all pairs, in several steps. */
#include "selfcheck.h"
struct body { double x, y, vx, vy, m; };
static double f(const double *p, int n)
{
    struct body b[4];
    for (int i = 0; i < 4; i++) {
        struct body one = {p[(2 * i) % n] + 2 * i, p[(2 * i + 1) % n] - i, 0, 0, 1 + 0.1 * i};
        b[i] = one;
    }
    for (int t = 0; t < 5; t++) {
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                if (i == j)
                    continue;
                double dx = b[j].x - b[i].x, dy = b[j].y - b[i].y, r2 = dx * dx + dy * dy + 0.01;
                double k = 0.05 * b[j].m / (r2 * sqrt(r2));
                b[i].vx += k * dx;
                b[i].vy += k * dy;
            }
        for (struct body *q = b; q < b + 4; q++) {
            q->x += 0.05 * q->vx;
            q->y += 0.05 * q->vy;
        }
    }
    return b[0].x * b[3].y + b[1].vx * 10 + b[2].vy;
}
int main(void) { CHECK_GRADIENT(f, 8); return failures(); }
