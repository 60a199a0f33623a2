/* A union that is a double, a number or a pointer by its tag: in arrays, copied, assigned anew. */
#include "selfcheck.h"
struct value { int tag; union { double d; int i; } u; };
struct word { long tag; union { double d; long i; const double *p; } u; };
static double numbers(const double *x, int n)
{
    struct value v[6];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < n; i++) {
            v[i].tag = (i + round) % 2;
            if (v[i].tag)
                v[i].u.d = x[i] * x[0] + round;
            else
                v[i].u.i = i + round;
        }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (v[i].tag ? v[i].u.d * v[i].u.d : 0.1 * v[i].u.i) * x[i];
    return sum;
}
static double pointers(const double *x, int n)
{
    struct word v[6], w[6];
    for (int i = 0; i < n; i++) {
        v[i].tag = i % 3;
        if (i % 3 == 0)
            v[i].u.d = x[i] * x[i];
        else if (i % 3 == 1)
            v[i].u.i = i;
        else
            v[i].u.p = x + i;
    }
    for (int i = 0; i < n; i++)
        w[i] = v[n - 1 - i];
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (w[i].tag == 0 ? w[i].u.d : w[i].tag == 1 ? 0.5 * w[i].u.i : *w[i].u.p) * x[0];
    return sum;
}
int main(void)
{
    CHECK_EVERY_WAY(numbers, 6);
    CHECK_GRADIENT(pointers, 6);
    return failures();
}
