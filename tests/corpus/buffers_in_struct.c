// Double buffering in a struct: the pointers are swapped by a function, the memory made and released by others.
#include <stdlib.h>
struct sim { double *now, *next; int n; };
static __attribute__((noinline)) struct sim *sim_new(int n) {
    struct sim *s = malloc(sizeof *s);
    s->now = malloc(n * sizeof(double));
    s->next = malloc(n * sizeof(double));
    s->n = n;
    return s;
}
static __attribute__((noinline)) void sim_free(struct sim *s) {
    free(s->now);
    free(s->next);
    free(s);
}
static __attribute__((noinline)) void swap(struct sim *s) {
    double *t = s->now;
    s->now = s->next;
    s->next = t;
}
static __attribute__((noinline)) void step(struct sim *s, double c) {
    for (int i = 0; i < s->n; i++) {
        double l = s->now[i ? i - 1 : 0], r = s->now[i + 1 < s->n ? i + 1 : i];
        s->next[i] = s->now[i] + c * (l - 2 * s->now[i] + r) * s->now[i];
    }
    swap(s);
}
double buffers_in_struct(double *x, int n, double c) {
    struct sim *s = sim_new(n);
    for (int i = 0; i < n; i++) s->now[i] = x[i];
    for (int t = 0; t < 5; t++) step(s, 0.1 * c);
    double e = 0;
    for (int i = 0; i < n; i++) e += s->now[i] * s->now[i];
    sim_free(s);
    return e;
}
