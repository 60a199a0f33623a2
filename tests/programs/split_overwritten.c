/* Between the sweeps the program changes the memory: the tape holds what is needed. */
#include "selfcheck.h"
void *__enzyme_augmentfwd(void *, ...);
void __enzyme_reverse(void *, ...);
static void f(const double *x, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] = x[i] * x[i] * x[(i + 1) % 3];
}
int main(void)
{
    double x[3] = {1, 2, 3}, d[3] = {0}, y[3] = {0}, s[3] = {0};
    void *tape = __enzyme_augmentfwd((void *)f, enzyme_dup, x, d, enzyme_dup, y, s);
    for (int i = 0; i < 3; i++)
        x[i] = y[i] = -100;
    s[0] = s[1] = s[2] = 1;
    __enzyme_reverse((void *)f, enzyme_dup, x, d, enzyme_dup, y, s, tape);
    expect("x0", 0, d[0], 2 * 1 * 2 + 3 * 3);
    expect("x1", 1, d[1], 2 * 2 * 3 + 1 * 1);
    expect("x2", 2, d[2], 2 * 3 * 1 + 2 * 2);
    return failures();
}
