/* An inactive function hands active memory to code that is not known, and what the program allocates is released. */
#include "selfcheck.h"
void swab(const void *, void *, long);
static int looked;
static void look(const double *x, int n)
{
    double copy[8];
    swab(x, copy, 0);
    looked += n;
}
void *__enzyme_inactivefn[] = {(void *)look};
static double f(const double *x, int n)
{
    double *y = (double *)malloc((size_t)n * sizeof *y), sum = 0;
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
    look(y, n);
    for (int i = 0; i < n; i++)
        sum += y[i] * x[i];
    free(y);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(f, 4);
    expect("looked", 0, looked > 0, 1);
    return failures();
}
