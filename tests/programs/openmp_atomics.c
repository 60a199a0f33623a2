/* Atomic operations within parallel regions. */
#include "selfcheck.h"

static double sum(const double *x, int n)
{
    double s = 0;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        s += sin(x[i]) * x[i];
    }
    return s * s;
}

static double product(const double *x, int n)
{
    double p = 1;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        p *= x[i];
    }
    return p;
}

static double least(const double *x, int n)
{
    double m = 100, y = 2;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp atomic compare
        if (m > x[i]) { m = x[i]; }
#pragma omp atomic update
        y = y / x[i];
    }
    return m * y;
}

static double histogram(const double *x, int n)
{
    double bins[4] = {0}, s = 0;
    int met = 0;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        int bin = (int)(4 * x[i]) % 4;
#pragma omp atomic
        bins[bin] += x[i] * x[i];
#pragma omp atomic
        met++;
    }
    for (int i = 0; i < 4; i++)
        s += bins[i] * bins[i] * met;
    return s;
}

static double captured(const double *x, int n)
{
    double s = x[0], before = 0, after = 0, y[16];
    int at = 0;
#pragma omp parallel for ordered
    for (int i = 0; i < n; i++) {
        double v, w;
        int place;
#pragma omp ordered
        {
#pragma omp atomic capture
            { v = s; s *= x[i]; }
#pragma omp atomic capture
            w = s -= x[0];
#pragma omp atomic capture
            place = at++;
        }
        y[place] = v * w;
    }
    for (int i = 0; i < n; i++)
        before += y[i];
#pragma omp parallel
    {
        double v;
#pragma omp atomic read
        v = s;
#pragma omp single
        {
#pragma omp atomic write
            after = v * before;
        }
    }
    return after;
}

static double in_single(const double *x, int n)
{
    float p = 1, s = 0;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        p *= (float)x[i];
#pragma omp atomic
        s += (float)x[i];
    }
    return p * s;
}

int main(void)
{
    CHECK_GRADIENT(sum, 6);
    CHECK_GRADIENT(product, 6);
    CHECK_GRADIENT(least, 6);
    CHECK_GRADIENT(histogram, 6);
    CHECK_GRADIENT(captured, 5);
    double x[4] = {0.5, 1.5, 2.5, 0.25}, d[4] = {0};
    __enzyme_autodiff_void((void *)in_single, enzyme_dup, x, d, enzyme_const, 4);
    for (int i = 0; i < 4; i++)
        expect_within("in_single", i, d[i], 0.46875 / x[i] * 4.75 + 0.46875, 1e-5);
    return failures();
}
