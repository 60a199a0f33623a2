/* Buffers that variables of a file keep between calls: grown where they are used, or made before, shared by functions. */
#include "selfcheck.h"
static double *work;
static int room;
static struct {
    double *a, *b;
    int n;
} pair;
static double *made_before;
static void ensure(int n)
{
    if (n > room) {
        free(work);
        work = malloc(n * sizeof *work);
        room = n;
    }
}
static void squares(const double *x, int n, double *to)
{
    for (int i = 0; i < n; i++)
        to[i] = x[i] * x[i];
}
static double first(const double *x, int n)
{
    ensure(n);
    squares(x, n, work);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += work[i] * sin(work[n - 1 - i]);
    return sum;
}
static double second(const double *x, int n)
{
    ensure(2 * n);
    double *back = work + n;
    for (int i = 0; i < n; i++)
        work[i] = exp(x[i]), back[i] = work[i] * x[0];
    double sum = first(x, n); /* writes over the first half */
    for (int i = 0; i < n; i++)
        sum += back[i] * (i + 1);
    return sum;
}
static double two(const double *x, int n)
{
    if (n > pair.n) {
        free(pair.a), free(pair.b);
        pair.a = calloc(n, sizeof *pair.a);
        pair.b = calloc(n, sizeof *pair.b);
        pair.n = n;
    }
    for (int i = 0; i < n; i++)
        pair.a[i] = x[i] * x[i], pair.b[i] = pair.a[i] * x[n - 1 - i];
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += pair.a[i] * pair.b[i];
    return sum;
}
static double prepared(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        made_before[i] = sin(x[i]);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += made_before[i] * made_before[n - 1 - i] * x[i];
    return sum;
}
static void prepare(int n)
{
    free(made_before);
    made_before = malloc(n * sizeof *made_before);
}
static void clean(void)
{
    free(work), free(made_before), free(pair.a), free(pair.b);
    work = made_before = pair.a = pair.b = NULL;
    room = pair.n = 0;
}
int main(void)
{
    prepare(5);
    for (int n = 3; n < 6; n += 2) {
        CHECK_GRADIENT(first, 3);
        CHECK_GRADIENT(second, 3);
        CHECK_GRADIENT(two, 3);
        CHECK_GRADIENT(prepared, 3);
        CHECK_GRADIENT(second, 5);
        CHECK_GRADIENT(two, 5);
        CHECK_GRADIENT(prepared, 5);
        if (n == 3)
            clean(), prepare(7);
    }
    return failures();
}
