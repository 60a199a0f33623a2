// A growing vector behind functions that are not inlined, of structs with an index beside the float.
#include <stdlib.h>
struct item { int k; double v; };
struct vec { struct item *data; int size, room; };
static __attribute__((noinline)) void push(struct vec *v, int k, double x) {
    if (v->size == v->room) {
        v->room = v->room ? 2 * v->room : 1;
        v->data = realloc(v->data, v->room * sizeof *v->data);
    }
    v->data[v->size].k = k;
    v->data[v->size++].v = x;
}
static __attribute__((noinline)) double drop(struct vec *v) {
    double last = v->data[v->size - 1].v;
    free(v->data);
    v->data = 0;
    return last;
}
double vector_push(double *x, int n) {
    struct vec v = {0};
    double s = 0;
    for (int i = 0; i < 3 * n; i++) push(&v, (i * 5) % n, x[i % n] * x[(i + 1) % n]);
    for (int i = 0; i < v.size; i++) s += v.data[i].v * x[v.data[i].k];
    return s * drop(&v);
}
