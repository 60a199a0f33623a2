/* An integrator with a right-hand side behind a pointer. */
#include "selfcheck.h"
typedef void (*field)(double t, const double *y, double *dy, const double *p);
static void pendulum(double t, const double *y, double *dy, const double *p)
{
    dy[0] = y[1];
    dy[1] = -p[0] * sin(y[0]) - p[1] * y[1] + 0.1 * t;
}
static void integrate(field rhs, double *y, const double *p, int steps, double h)
{
    for (int s = 0; s < steps; s++) {
        double k[4][2], z[2];
        rhs(s * h, y, k[0], p);
        for (int stage = 1; stage < 4; stage++) {
            double c = stage == 3 ? h : h / 2;
            for (int i = 0; i < 2; i++)
                z[i] = y[i] + c * k[stage - 1][i];
            rhs(s * h + c, z, k[stage], p);
        }
        for (int i = 0; i < 2; i++)
            y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}
static double f(const double *x, int n)
{
    double y[2] = {x[0], x[n - 1]};
    integrate(pendulum, y, x + 1, 20, 0.05);
    return y[0] + 2 * y[1];
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
