/* A buffer of eight bytes for anything, written and read by memcpy. */
#include "selfcheck.h"
struct any { int kind; _Alignas(8) char bytes[8]; };
static void put(struct any *a, int kind, const void *from, size_t size) { a->kind = kind; memcpy(a->bytes, from, size); }
static double get(const struct any *a)
{
    double d;
    long l;
    int i;
    switch (a->kind) {
    case 0:
        memcpy(&d, a->bytes, sizeof d);
        return d;
    case 1:
        memcpy(&i, a->bytes, sizeof i);
        return 0.5 * i;
    default:
        memcpy(&l, a->bytes, sizeof l);
        return (double)l;
    }
}
static double f(const double *x, int n)
{
    struct any *a = malloc((size_t)n * sizeof *a);
    for (int i = 0; i < n; i++) {
        double d = x[i] * x[i];
        long l = i;
        switch (i % 3) {
        case 0:
            put(a + i, 0, &d, sizeof d);
            break;
        case 1:
            put(a + i, 1, &i, sizeof i);
            break;
        default:
            put(a + i, 3, &l, sizeof l);
        }
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += get(a + i) * x[0];
    free(a);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
