/* A header and numbers in one allocation. */
#include "selfcheck.h"
struct series { int n; double scale; double at[]; };
static double f(const double *x, int n)
{
    struct series *s = (struct series *)malloc(sizeof *s + n * sizeof(double));
    s->n = n;
    s->scale = x[0];
    for (int i = 0; i < n; i++)
        s->at[i] = x[i] * x[i];
    double sum = 0;
    for (int i = 0; i < s->n; i++)
        sum += s->scale * s->at[i];
    free(s);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
