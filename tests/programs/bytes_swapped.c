/* Elements of any size are swapped and copied byte by byte, as generic sorts and containers do. */
#include "selfcheck.h"
struct item { double key; int count; double value; };
static void swap(void *a, void *b, size_t size)
{
    unsigned char *p = a, *q = b;
    while (size--) {
        unsigned char t = *p;
        *p++ = *q;
        *q++ = t;
    }
}
static void swap_by_index(char *p, char *q, int size)
{
    for (int i = 0; i < size; i++) {
        char t = p[i];
        p[i] = q[i];
        q[i] = t;
    }
}
static void copy(void *to, const void *from, size_t size)
{
    char *p = to;
    const char *q = from;
    while (size--)
        *p++ = *q++;
}
static void sort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    char *b = base;
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && compare(b + (j - 1) * size, b + j * size) > 0; j--)
            swap(b + (j - 1) * size, b + j * size, size);
}
static int by_value(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}
static double sorted(const double *x, int n)
{
    double a[16], sum = 0;
    for (int i = 0; i < n; i++)
        a[i] = x[i] * (i % 2 ? 1 : 3);
    sort(a, n, sizeof *a, by_value);
    for (int i = 0; i < n; i++)
        sum += a[i] * a[i] * (i + 1);
    return sum;
}
static double shuffled(const double *x, int n)
{
    struct item items[8];
    double sum = 0;
    for (int i = 0; i < n; i++)
        items[i] = (struct item){x[i], i, x[i] * x[(i + 1) % n]};
    for (int i = 0; i < n; i++)
        swap_by_index((char *)&items[i], (char *)&items[3 * i % n], sizeof *items); /* with itself, too */
    for (int i = 0; i < n; i++)
        sum += items[i].key * items[i].value * (items[i].count + i);
    return sum;
}
static double reversed(const double *x, int n)
{
    double a[16], t, sum = 0;
    copy(a, x, n * sizeof *a);
    for (int i = 0, j = n - 1; i < j; i++, j--) {
        copy(&t, a + i, sizeof t);
        copy(a + i, a + j, sizeof t);
        copy(a + j, &t, sizeof t);
    }
    for (int i = 0; i < n; i++)
        sum += a[i] * a[i] * (i + 1);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(sorted, 6);
    CHECK_GRADIENT(shuffled, 5);
    CHECK_GRADIENT(reversed, 6);
    return failures();
}
