/* The bits of doubles in arrays of integers, which other functions look up, swap, and chain. */
#include "bits.h"

struct table {
    int n;
    uint64_t *keys, *values;
};

static __attribute__((noinline)) void put(struct table *t, uint64_t key, uint64_t value)
{
    t->keys[t->n] = key;
    t->values[t->n++] = value;
}

static __attribute__((noinline)) uint64_t found(const struct table *t, uint64_t key)
{
    for (int i = 0; i < t->n; i++)
        if (t->keys[i] == key)
            return t->values[i];
    return 0;
}

static double looked_up(const double *x, int n)
{
    struct table t = {0, malloc(n * sizeof *t.keys), malloc(n * sizeof *t.values)};
    double sum = 0;
    for (int i = 0; i < n; i++)
        put(&t, i * 7, packed(x[i] * x[i]));
    for (int i = 0; i < n; i++)
        sum += sin(unpacked(found(&t, i * 7))) * (i + 1);
    free(t.keys);
    free(t.values);
    return sum;
}

static __attribute__((noinline)) void swap(uint64_t *a, uint64_t *b)
{
    uint64_t t = *a;
    *a = *b;
    *b = t;
}

static double swapped(const double *x, int n)
{
    uint64_t *a = malloc(n * sizeof *a);
    double sum = 0;
    for (int i = 0; i < n; i++)
        a[i] = packed(x[i] * x[i]);
    for (int i = 0; i < n / 2; i++)
        swap(a + i, a + n - 1 - i);
    for (int i = 0; i < n; i++)
        sum += sin(unpacked(a[i])) * (i + 1);
    free(a);
    return sum;
}

/* As kernels sort: elements of eight bytes are swapped as integers, against the language's rules of aliasing. */
static void sorted_by(void *base, int n, int size, int (*compare)(const void *, const void *))
{
    char *a = base;
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && compare(a + (k - 1) * size, a + k * size) > 0; k--)
            if (size == sizeof(uint64_t)) {
                swap((uint64_t *)(a + (k - 1) * size), (uint64_t *)(a + k * size));
            } else {
                for (int b = 0; b < size; b++) {
                    char t = a[(k - 1) * size + b];
                    a[(k - 1) * size + b] = a[k * size + b];
                    a[k * size + b] = t;
                }
            }
}

static int upwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted(const double *x, int n)
{
    double a[16], sum = 0;
    for (int i = 0; i < n; i++)
        a[i] = x[i] * x[i];
    sorted_by(a, n, sizeof *a, upwards);
    for (int i = 0; i < n; i++)
        sum += sin(a[i]) * (i + 1);
    return sum;
}

struct node {
    uint64_t word;
    struct node *next;
};

static __attribute__((noinline)) struct node *pushed(struct node *head, uint64_t word)
{
    struct node *made = malloc(sizeof *made);
    made->word = word;
    made->next = head;
    return made;
}

static void released(struct node *list)
{
    while (list) {
        struct node *next = list->next;
        free(list);
        list = next;
    }
}

static double chained(const double *x, int n)
{
    struct node *list = 0, *turned = 0;
    double sum = 0;
    int k = 0;
    for (int i = 0; i < n; i++)
        list = pushed(list, packed(x[i] * x[i]));
    for (struct node *p = list; p; p = p->next)
        turned = pushed(turned, p->word);
    for (struct node *p = turned; p; p = p->next)
        sum += sin(unpacked(p->word)) * ++k;
    released(list);
    released(turned);
    return sum;
}

/* By a float's exponent, from the table's second element on. */
static double weights[5] = {0.3, 1.1, -0.7, 2.3, 0.9};

static double weighed(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += sin(x[i]) * (weights + 1)[packed(x[i]) >> 52 & 3];
    return sum;
}

int main(void)
{
    CHECK_GRADIENT(looked_up, 6);
    CHECK_GRADIENT(swapped, 6);
    CHECK_GRADIENT(sorted, 6);
    CHECK_GRADIENT(chained, 6);
    CHECK_GRADIENT(weighed, 6);
    return failures();
}
