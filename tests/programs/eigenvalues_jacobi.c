/* The largest eigenvalue of a symmetric matrix by Jacobi's rotations, with `continue` where nothing is left to do. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double a[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a[i][j] = (x[i] + x[j]) * 0.4 + (i == j) * x[(i + 1) % n] * (i + 1);
    for (int sweep = 0; sweep < 6; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (fabs(a[p][q]) < 1e-14)
                    continue;
                double angle = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = copysign(1.0, angle) / (fabs(angle) + sqrt(angle * angle + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 3; k++) {
                    double u = a[k][p], v = a[k][q];
                    a[k][p] = c * u - s * v;
                    a[k][q] = s * u + c * v;
                }
                for (int k = 0; k < 3; k++) {
                    double u = a[p][k], v = a[q][k];
                    a[p][k] = c * u - s * v;
                    a[q][k] = s * u + c * v;
                }
            }
    return fmax(a[0][0], fmax(a[1][1], a[2][2]));
}
int main(void) { CHECK_EVERY_WAY(f, 4); return failures(); }
