/* An object in C: functions behind pointers in a struct on the heap. */
#include "selfcheck.h"
struct model { double (*energy)(const struct model *, double); double k; };
static double harmonic(const struct model *m, double x) { return m->k * x * x / 2; }
static double quartic(const struct model *m, double x) { return m->k * x * x * x * x; }
static struct model *make(int kind, double k)
{
    struct model *m = (struct model *)malloc(sizeof *m);
    m->energy = kind ? harmonic : quartic;
    m->k = k;
    return m;
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        struct model *m = make(i % 2, x[0]);
        sum += m->energy(m, x[i]);
        free(m);
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
