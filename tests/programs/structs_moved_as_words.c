/* Structs of an integer and a double, swapped word by word through a pointer to integers. */
#include "selfcheck.h"
typedef long __attribute__((may_alias)) word;
struct entry { long key; double value; };
static __attribute__((noinline)) void swapped(struct entry *p, struct entry *q)
{
    word *a = (word *)p, *b = (word *)q;
    for (int k = 0; k < 2; k++) {
        word t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}
static double f(const double *x, int n)
{
    struct entry e[6];
    for (int i = 0; i < n; i++) {
        e[i].key = (i * 5) % 7;
        e[i].value = x[i] * x[i];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j + 1 < n; j++)
            if (e[j].key > e[j + 1].key)
                swapped(e + j, e + j + 1);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += e[i].value * (i + 1) + e[i].key;
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
