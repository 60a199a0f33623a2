/* Several tapes alive at once, run back in the order in which they were made. */
#include "selfcheck.h"
void *__enzyme_augmentfwd(void *, ...);
void __enzyme_reverse(void *, ...);
static void f(const double *x, double *y, int n)
{
    *y = 0;
    for (int i = 0; i < n; i++)
        *y += exp(x[i] * x[0]);
}
static double plain(const double *x, int n) { double y; f(x, &y, n); return y; }
int main(void)
{
    double x[3][3], d[3][3] = {{0}}, y[3], s[3] = {0};
    void *tape[3];
    for (int k = 0; k < 3; k++) {
        sample(x[k], 3);
        tape[k] = __enzyme_augmentfwd((void *)f, enzyme_dup, x[k], d[k], enzyme_dup, &y[k], &s[k], enzyme_const, 3);
    }
    for (int k = 0; k < 3; k++) {
        s[k] = k + 1;
        __enzyme_reverse((void *)f, enzyme_dup, x[k], d[k], enzyme_dup, &y[k], &s[k], enzyme_const, 3, tape[k]);
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            expect("tape", 3 * k + i, d[k][i], (k + 1) * slope_by(plain, 3, i));
    return failures();
}
