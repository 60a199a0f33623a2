// Records sorted by an active key and by an integer, then looked up.
#include <stdlib.h>
struct point { int id; double key; float weight; };
static int by_key(const void *a, const void *b) {
    const struct point *p = a, *q = b;
    return (p->key > q->key) - (p->key < q->key);
}
static int by_id(const void *a, const void *b) { return ((const struct point *)a)->id - ((const struct point *)b)->id; }
static __attribute__((noinline)) void sort(struct point *p, int n, int (*how)(const void *, const void *)) {
    qsort(p, n, sizeof *p, how);
}
double qsort_structs(double *x, int n) {
    struct point p[8];
    double s = 0;
    for (int i = 0; i < n; i++) p[i] = (struct point){(7 * i) % 11, x[i] * x[0] + 0.7 * ((5 * i) % 7), 0.5f * i};
    sort(p, n, by_key);
    for (int i = 1; i < n; i++) s += p[i].weight * p[i].key * p[i - 1].key;
    sort(p, n, by_id);
    for (int i = 1; i < n; i++) p[i].key *= p[i - 1].key;
    struct point wanted = {10}, *found = bsearch(&wanted, p, n, sizeof *p, by_id);
    return s + (found ? found->key * x[1] : 1);
}
