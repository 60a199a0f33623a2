/* Rules of a function that is passed a struct by value, in memory: in reverse mode its shadow is behind a pointer. */
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
typedef struct { double re, im, w; } big;
typedef struct { void *tape; double value; } kept;
extern int enzyme_dup, enzyme_const;
extern double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);
static int ahead, back;
__attribute__((noinline)) double weight(big b, double k) { return b.re * b.im * b.w * k; }
double weight_tan(big b, big d, double k, double dk) {
    ahead++;
    return (d.re * b.im * b.w + b.re * d.im * b.w + b.re * b.im * d.w) * k + dk * b.re * b.im * b.w;
}
kept weight_fwd(big b, big *db, double k) {
    big *held = malloc(sizeof b);
    *held = b;
    return (kept){held, weight(b, k)};
}
double weight_rev(big b, big *db, double k, double seed, void *tape) {
    big *h = tape; back++;
    db->re += seed * k * h->im * h->w, db->im += seed * k * h->re * h->w, db->w += seed * k * h->re * h->im;
    double dk = seed * h->re * h->im * h->w;
    free(h);
    return dk;
}
void *__enzyme_register_derivative_weight[] = {(void *)weight, (void *)weight_tan};
void *__enzyme_register_gradient_weight[] = {(void *)weight, (void *)weight_fwd, (void *)weight_rev};
double f(const double *x, int n) {
    double s = 0;
    big b = {1, 1, 1};
    for (int i = 0; i < n; i++) {
        b.re += x[i];
        b.im *= x[i];
        s += weight(b, sin(x[i]));
        b.w = s;
    }
    return s;
}
int main(void) {
    double x[4] = {.5, 1.5, .7, 1.1}, d[4] = {0}, u[4] = {1, -2, .5, 3}, along = 0;
    int bad = 0;
    __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, 4);
    for (int i = 0; i < 4; i++) {
        double v = x[i], h = 1e-6;
        x[i] = v + h;
        double above = f(x, 4);
        x[i] = v - h;
        double slope = (above - f(x, 4)) / (2 * h);
        x[i] = v;
        along += slope * u[i];
        if (fabs(d[i] - slope) > 1e-6 * (1 + fabs(slope))) printf("%d: %g, not %g\n", i, d[i], slope), bad = 1;
    }
    double t = __enzyme_fwddiff((void *)f, enzyme_dup, x, u, enzyme_const, 4);
    if (fabs(t - along) > 1e-6 * (1 + fabs(t))) printf("fwd %g not %g\n", t, along), bad = 1;
    if (ahead != 4 || back != 4) printf("rules used %d %d times\n", ahead, back), bad = 1;
    return bad;
}
