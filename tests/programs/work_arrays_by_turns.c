/* Work arrays under runtime activity: what they are made of is constant at one time and active at another. */
#include "selfcheck.h"
enum { MOST = 6 };
static double *work, one[MOST], two[MOST], *now = one, *next = two;
static int room;

static double sum(const double *x, const double *y, int n, int active)
{
    const double *p = active ? x : y;
    if (n > room) {
        free(work);
        work = malloc(n * sizeof(double));
        room = n;
    }
    for (int i = 0; i < n; i++)
        work[i] = p[i] * p[i];
    double s = 0;
    for (int i = 0; i < n; i++) {
        now[i] = work[i] * work[(i + 1) % n];
        next[i] = now[i] * x[0];
        s += next[i];
    }
    double *t = now;
    now = next;
    next = t;
    return s;
}
static double numbers[MOST] = {1, 2, 3, 4, 5, 6};
static double of_constant(const double *x, int n) { return sum(x, numbers, n, 0); }
static double of_active(const double *x, int n) { return sum(x, numbers, n, 1); }
static double weighted(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += work[i] * x[i];
    return s;
}
int main(void)
{
    for (int n = 3; n <= MOST; n++) {
        double x[MOST], d[MOST] = {0}, t[MOST];
        sample(x, n);
        for (int active = 0; active < 2; active++) {
            clear(d, n);
            __enzyme_autodiff_void((void *)sum, enzyme_runtime_activity, enzyme_dup, x, d, enzyme_const, numbers,
                                   enzyme_const, n, enzyme_const, active);
            for (int i = 0; i < n; i++) {
                double wanted = slope_by(active ? of_active : of_constant, n, i);
                clear(t, n);
                t[i] = 1;
                expect("reverse", i, d[i], wanted);
                expect("forward", i,
                       __enzyme_fwddiff((void *)sum, enzyme_runtime_activity, enzyme_dup, x, t, enzyme_const, numbers,
                                        enzyme_const, n, enzyme_const, active),
                       wanted);
            }
        }
        clear(d, n);
        __enzyme_autodiff_void((void *)weighted, enzyme_runtime_activity, enzyme_dup, x, d, enzyme_const, n);
        for (int i = 0; i < n; i++)
            expect("weighted", i, d[i], work[i]);
    }
    free(work);
    return failures();
}
