/* Memory of the caller, of a variable and of a frame is used for integers first, for floats after. */
#include "selfcheck.h"
static double twice(const double *x, int n, void *work)
{
    double sum = 0;
    int *k = (int *)work;
    for (int i = 0; i < n; i++)
        k[i] = (i + 1) % n;
    for (int i = 0; i < n; i++)
        sum += x[k[i]] * x[k[i]] * x[i];
    double *d = (double *)work;
    for (int i = 0; i < n; i++)
        d[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += d[i] * x[i];
    return sum;
}
static _Alignas(16) char pool[1024];
static double in_variable(const double *x, int n) { return twice(x, n, pool); }
static double in_frame(const double *x, int n)
{
    _Alignas(16) char room[1024];
    return twice(x, n, room);
}
static double of_caller(const double *x, int n) { static double room[64]; return twice(x, n, room); }
int main(void)
{
    CHECK_GRADIENT(in_variable, 4);
    CHECK_GRADIENT(in_frame, 4);
    double x[4], d[4] = {0}, work[8] = {0}, shadow[8] = {0};
    sample(x, 4);
    __enzyme_autodiff_void((void *)twice, enzyme_dup, x, d, enzyme_const, 4, enzyme_dup, work, shadow);
    for (int i = 0; i < 4; i++)
        expect("of the caller", i, d[i], slope_by(of_caller, 4, i));
    return failures();
}
