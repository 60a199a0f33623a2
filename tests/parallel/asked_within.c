/* Derivatives that the threads of a team ask for: regions within are of one thread, or teams of their own. */
#include "check.h"
static void map(const double *x, double *y)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) RAN, y[i] = x[i] * sin(x[(i + 1) % N]) + y[i] * y[i];
}
static void crit(const double *x, double *y)
{
    double p = 1;
#pragma omp parallel for
    for (int i = 0; i < N; i++)
#pragma omp critical
        p *= x[i];
    y[0] = p;
}
REVERSE(map) REVERSE(crit) FORWARD(map) FORWARD(crit)
int main(void)
{
    int bad = 0;
#pragma omp parallel num_threads(4) reduction(+ : bad)
    for (int r = 0; r < 300; r++) {
        double x[N], dx[N], y[N], dy[N], t[N], dt[N], left = 0, right = 0;
        for (int i = 0; i < N; i++) x[i] = wave(i, 1.3), dx[i] = 0, y[i] = 1, dy[i] = wave(i, .3), t[i] = 1, dt[i] = 0;
        double v[N], s[N];
        for (int i = 0; i < N; i++) v[i] = wave(i, 2.2), s[i] = dy[i];
        if (r % 2) reverse_map(x, dx, y, dy), forward_map(x, v, t, dt);
        else reverse_crit(x, dx, y, dy), forward_crit(x, v, t, dt);
        for (int i = 0; i < N; i++) left += dx[i] * v[i], right += s[i] * dt[i];
        bad += !(fabs(left - right) < 1e-9 * (1 + fabs(left)));
    }
    printf("bad %d\n", bad);
    return bad != 0;
}
