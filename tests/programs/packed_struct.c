/* A packed struct: doubles at odd addresses. */
#include "selfcheck.h"
struct __attribute__((packed)) record { char tag; double a; short n; double b; };
static double f(const double *x, int n)
{
    struct record r[4];
    double sum = 0;
    for (int i = 0; i < n; i++) {
        r[i].tag = 'x';
        r[i].a = x[i] * x[i];
        r[i].n = (short)(i + 2);
        r[i].b = r[i].a * x[0];
    }
    for (int i = 0; i < n; i++)
        sum += r[i].a * r[n - 1 - i].b / r[i].n;
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
