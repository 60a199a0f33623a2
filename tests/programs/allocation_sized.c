/* Allocators of the program's own whose release takes a size, which must be the one that was asked for. */
#include "selfcheck.h"
static long held, wrong;
typedef struct header { long bytes; double pad; } header;
static void *get(int tag, size_t bytes)
{
    header *h = (header *)malloc(sizeof *h + bytes);
    h->bytes = (long)bytes + tag;
    held += h->bytes;
    memset(h + 1, 0x7f, bytes);
    return h + 1;
}
static int give(size_t bytes, void *p, int tag)
{
    if (!p) return 0;
    header *h = (header *)p - 1;
    wrong += h->bytes != (long)bytes + tag;
    held -= h->bytes;
    h->bytes = -1;
    free(h);
    return 1;
}
void *__enzyme_allocation_like_get[] = {(void *)get, (void *)1, (void *)"1,-1,0", (void *)give};

typedef struct node { double value; struct node *next; } node;
static node *push(double v, node *list)
{
    node *made = (node *)get(5, sizeof(node));
    made->value = v;
    made->next = list;
    return made;
}
static double lists(const double *x, int n)
{
    node *list = 0;
    for (int i = 0; i < n; i++) list = push(x[i] * x[i], list);
    double *sums = (double *)get(7, n * sizeof(double)), last = 1;
    for (int i = 0; i < n; i++) {
        node *next = list->next;
        last = sums[i] = last * sin(list->value);
        give(sizeof(node), list, 5);
        list = next;
    }
    last += sums[0] * sums[0];
    give(n * sizeof(double), sums, 7);
    return last;
}
static double scratch(const double *x, int n) /* released in the iteration that asks for it */
{
    double sum = 0;
    for (int i = 1; i <= n; i++) {
        double *t = (double *)get(1, i * sizeof *t);
        for (int k = 0; k < i; k++) t[k] = x[k] * x[i - 1];
        for (int k = 0; k < i; k++) t[k] *= t[k] * x[0];
        for (int k = 0; k < i; k++) sum += exp(-t[k]);
        give(i * sizeof *t, t, 1);
    }
    return sum;
}
typedef struct { double *data; int n; } vector;
static void fill(vector *v, const double *x, int n) /* the caller's vector: what it held goes, what it gets stays */
{
    double *data = (double *)get(3, n * sizeof *data);
    for (int i = 0; i < n; i++) data[i] = x[i] * v->data[i] * x[(i + 1) % n];
    give(v->n * sizeof *data, v->data, 3);
    v->data = data;
    v->n = n;
}
static double chained(const double *x, int n)
{
    vector v = {(double *)get(3, n * sizeof(double)), n};
    for (int i = 0; i < n; i++) v.data[i] = 1;
    for (int i = 0; i < 3; i++) fill(&v, x, n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += v.data[i];
    give(v.n * sizeof(double), v.data, 3);
    return sum;
}
static void hand_over(vector *v, const double *x, int n) { fill(v, x, n); }

int main(void)
{
    CHECK_GRADIENT(lists, 3);
    CHECK_GRADIENT(scratch, 4);
    CHECK_GRADIENT(chained, 4);
    double x[2] = {2, 3}, dx[2] = {0, 0};
    vector v = {(double *)get(3, 16), 2}, dv = {(double *)get(3, 16), 2};
    v.data[0] = v.data[1] = 1, dv.data[0] = dv.data[1] = 0;
    __enzyme_fwddiff_void((void *)hand_over, enzyme_dup, &v, &dv, enzyme_dup, x, x, 2);
    for (int i = 0; i < 2; i++) {
        expect("value", i, v.data[i], 6);
        expect("tangent", i, dv.data[i], 12);
    }
    give(16, v.data, 3), give(16, dv.data, 3);
    expect("all released", 0, held, 0);
    expect("with their sizes", 0, wrong, 0);
    return failures();
}
