/* Memory that a variable points to from before the derivative: constant if it is only read, else the user names a
 * shadow of the variable. A static pointer that never changes is as good as the array. */
#include "selfcheck.h"
static double *constants, array[4], *fixed = array;
double *work, *d_work, *lazy, *d_lazy;
void *__enzyme_shadow_global_work[] = {&work, &d_work}, *__enzyme_shadow_global_lazy[] = {&lazy, &d_lazy};
static void prepare(int n)
{
    constants = malloc(n * sizeof *constants);
    sample(constants, n);
    work = calloc(n, sizeof *work);
    d_work = calloc(n, sizeof *work);
}
static double weighted(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += constants[i] * x[i] * x[i];
    return sum;
}
static double products(double *memory, const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        memory[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += memory[i] * memory[(i + 1) % n];
    return sum;
}
static double in_work(const double *x, int n) { return products(work, x, n); }
static double in_array(const double *x, int n) { return products(fixed, x, n); }
static double allocated_once(const double *x, int n)
{
    if (!lazy)
        lazy = malloc(n * sizeof *lazy);
    return products(lazy, x, n);
}
static double parameters(double x)
{
    return work[0] * x + work[1] * work[1];
}
int main(void)
{
    prepare(4);
    CHECK_GRADIENT(weighted, 4);
    CHECK_GRADIENT(in_work, 4);
    CHECK_GRADIENT(in_array, 4);
    CHECK_GRADIENT(allocated_once, 4);
    work[1] = 5;
    clear(d_work, 4);
    expect("x", 0, __enzyme_autodiff((void *)parameters, 3.0), work[0]);
    expect("work", 0, d_work[0], 3);
    expect("work", 1, d_work[1], 10);
    return failures();
}
