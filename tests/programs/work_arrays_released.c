/* Work arrays that are released, in the derivative and outside, and whose variables keep the old pointer. They are so
 * large that nothing is mapped there afterwards. */
#include "selfcheck.h"
enum { MOST = 40000 };
static struct {
    double *squares, *products;
    int ready;
} kept;
static double *now;
static int any;

static void release(void)
{
    free(kept.squares);
    free(kept.products);
    kept.ready = 0;
}
static double made_when_not_ready(const double *x, int n)
{
    if (!kept.ready) {
        kept.squares = malloc(MOST * sizeof(double));
        kept.products = malloc(MOST * sizeof(double));
        kept.ready = 1;
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        kept.squares[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        kept.products[i] = kept.squares[i] * kept.squares[(i + 1) % n];
    for (int i = 0; i < n; i++)
        sum += kept.products[i] * kept.squares[i];
    if (n == 3)
        release();
    return sum;
}
static double always_new(const double *x, int n)
{
    double *old = now, sum = 0;
    now = malloc(MOST * sizeof(double));
    if (any)
        free(old);
    any = 1;
    for (int i = 0; i < n; i++)
        now[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += now[i] * now[(i + 1) % n];
    if (n == 4) {
        free(now);
        any = 0;
    }
    return sum;
}

/* By a function of the program's own, which does not know what it is given. */
static double *given;
static int has;
__attribute__((noinline)) void destroy(void *p)
{
    if (p)
        free(p);
}
static double released_elsewhere(const double *x, int n)
{
    if (!has) {
        given = malloc(MOST * sizeof(double));
        has = 1;
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        given[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += given[i] * given[(i + 1) % n];
    if (n == 4) {
        destroy(given);
        has = 0;
    }
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(made_when_not_ready, 3);
    CHECK_GRADIENT(made_when_not_ready, 4);
    release();
    CHECK_GRADIENT(made_when_not_ready, 5);
    CHECK_GRADIENT(always_new, 3);
    CHECK_GRADIENT(always_new, 4);
    CHECK_GRADIENT(always_new, 3);
    release();
    if (any)
        free(now);
    CHECK_GRADIENT(released_elsewhere, 3);
    CHECK_GRADIENT(released_elsewhere, 4);
    CHECK_GRADIENT(released_elsewhere, 3);
    destroy(given);
    return failures();
}
