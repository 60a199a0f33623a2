// Second derivatives over a buffer that a static variable keeps and realloc moves, in code that may throw.
#include "selfcheck.h"

#include <stdexcept>

static double *work;
static int room;

__attribute__((noinline)) static double grows(const double *x, int n)
{
    if (n > room)
        work = (double *)realloc(work, (room = n) * sizeof *work);
    double s = 0;
    for (int i = 0; i < n; i++)
        work[i] = x[i] * x[i];
    for (int i = 0; i < n; i++) {
        if (x[i] < 0)
            throw std::runtime_error("negative");
        s += work[i] * work[(i + 1) % n];
    }
    return s;
}

static double rate(double a, double *x, int n)
{
    double d[8] = {}, y[8], s = 0;
    for (int i = 0; i < n; i++)
        y[i] = x[i] * a;
    __enzyme_autodiff_void((void *)grows, enzyme_dup, y, d, enzyme_const, n);
    for (int i = 0; i < n; i++)
        s += d[i] * x[i];
    return s;
}

int main()
{
    double x[8];
    sample(x, 8);
    for (int n = 4; n < 9; n += 2) {
        double wanted = (rate(1 + 1e-4, x, n) - rate(1 - 1e-4, x, n)) / 2e-4;
        expect_within("reverse over reverse", n, __enzyme_autodiff((void *)rate, enzyme_out, 1.0, enzyme_const, x, enzyme_const, n), wanted, 1e-6);
        expect_within("forward over reverse", n, __enzyme_fwddiff((void *)rate, enzyme_dup, 1.0, 1.0, enzyme_const, x, enzyme_const, n), wanted, 1e-6);
    }
    return failures();
}
