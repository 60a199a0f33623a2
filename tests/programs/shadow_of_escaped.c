/* Memory whose address code that is not known has seen is released by the program: so is its shadow. */
#include "selfcheck.h"
void swab(const void *, void *, long);
static void look(const double *x)
{
    double copy[8];
    swab(x, copy, 0);
}
void *__enzyme_inactivefn[] = {(void *)look};
__attribute__((noinline)) static void released(double *y, int really)
{
    if (really)
        free(y);
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double *y = (double *)malloc((size_t)n * sizeof *y), *z = (double *)malloc((size_t)n * sizeof *z);
        for (int i = 0; i < n; i++) {
            y[i] = x[i] * x[i];
            z[i] = y[i] * x[0];
        }
        look(y);
        look(z);
        for (int i = 0; i < n; i++)
            sum += y[i] * x[i] * z[i];
        free(y);
        released(z, n > 0);
    }
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(f, 4);
    return failures();
}
