/* A struct too large for registers comes back through memory. */
#include "selfcheck.h"
struct matrix { double at[2][2]; };
__attribute__((noinline)) static struct matrix times(const struct matrix *a, const struct matrix *b)
{
    struct matrix c;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            c.at[i][j] = a->at[i][0] * b->at[0][j] + a->at[i][1] * b->at[1][j];
    return c;
}
static double f(const double *x, int n)
{
    (void)n;
    struct matrix a = {{{x[0], x[1]}, {x[2], x[3]}}}, power = a;
    for (int k = 0; k < 3; k++)
        power = times(&power, &a);
    return power.at[0][0] + power.at[1][1] * power.at[0][1];
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
