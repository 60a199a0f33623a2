// Functions that one derivative calls with constant memory here and with active memory there.
#include "selfcheck.h"
static double table[4] = {0.5, 1, -1, 2};
static void product(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            out[2 * i + j] = a[2 * i] * b[j] + a[2 * i + 1] * b[2 + j];
}
static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += a[i] * b[i];
    return sum;
}
static double squares(const double *a) { return dot(a, a); }
static double f(const double *x, int n)
{
    double fixed[4] = {1, 2, 3, (double)n}, both[4], constants[4], active[4];
    product(table, fixed, constants);
    product(x, constants, both);
    product(both, x, active);
    return squares(active) * squares(constants) + dot(both, fixed) + dot(table, fixed);
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
