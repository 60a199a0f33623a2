/* Atomic operations within parallel regions on what no instruction takes: libatomic has functions for these. */
#include "selfcheck.h"

static double in_long(const double *x, int n)
{
    long double s = 0, p = 1;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        s += x[i] * x[i];
#pragma omp atomic
        p *= x[i];
    }
    return (double)(s * p);
}

static double in_complex(const double *x, int n)
{
    double _Complex s = 0;
    double *part = (double *)&s;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double _Complex v;
        ((double *)&v)[0] = x[i];
        ((double *)&v)[1] = x[i] * x[i];
#pragma omp atomic
        s += v;
    }
    return part[0] * part[1];
}

int main(void)
{
    CHECK_GRADIENT(in_long, 5);
    CHECK_GRADIENT(in_complex, 5);
    return failures();
}
