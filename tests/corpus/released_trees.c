// A tree without derivatives is released, where a static pointer that has a shadow is emptied: reversed, that is walked
// again, by the pointers of what was released.
// x: 5
// y: 5
// n: 5
#include <math.h>
#include <stdlib.h>
struct released_node { double v; struct released_node *l, *r; };
static double *released_current;
static __attribute__((noinline)) struct released_node *released_planted(struct released_node *o, double v, int k) {
    if (!o) { o = malloc(sizeof *o); o->v = v; o->l = o->r = 0; return o; }
    if (k & 1) o->l = released_planted(o->l, v * 0.9, k >> 1); else o->r = released_planted(o->r, v, k >> 1);
    return o;
}
static __attribute__((noinline)) double released_gathered(struct released_node *o, double u) {
    return o ? o->v * u + released_gathered(o->l, 0.5 * u) - released_gathered(o->r, u + 0.1) : u;
}
static __attribute__((noinline)) void released_felled(struct released_node *o) {
    if (o) { released_felled(o->l); released_felled(o->r); free(o); }
}
static __attribute__((noinline)) double *released_grown(double *x, double u) {
    double *m = malloc(5 * sizeof *m);
    for (int i = 0; i < 5; i++) m[i] = u * x[i];
    m[2] = sin(x[0] + x[3]);
    return m;
}
static __attribute__((noinline)) double released_found(double u, double v) {
    double z[3] = {u, v, 0.5};
    struct released_node *o = 0;
    for (int i = 1; i < 5; i++) o = released_planted(o, z[i % 3], i);
    z[2] = released_gathered(o, -0.48);
    released_felled(o);
    z[0] = sin(u + z[1]);
    return z[0];
}
double released_elsewhere(double *x, int n) {
    double a[6];
    for (int i = 0; i < 6; i++) a[i] = x[i % n] * 0.5;
    released_current = n > 7 ? x : a;
    released_current[n % 6] = tanh(x[1]);
    released_current = 0;
    return a[2] + x[1];
}
double released_trees(double *x, double *y, int n) {
    static double kept[5];
    for (int i = 0; i < 5; i++) kept[i] = 0.2 * i - x[i] * 0.1;
    double *m = released_grown(x, y[n % 5]);
    x[n % 3] = released_found(x[(n + 1) % 3], y[n % 4]);
    y[n % 2] = m[n % 5];
    free(m);
    return x[0] + 0.5 * y[1] + kept[2];
}
