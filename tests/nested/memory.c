/* Hessian times vector in four ways, where the function allocates, loops, recurses, calls through pointers, and keeps a global. */
#include "check.h"
typedef double (*unary)(double);
static double kept;
static double soft(double x) { return x > 0.3 ? log1p(exp(x)) : x * x * x; }
static double wave(double x) { kept += x * x; return sin(x) * kept; }
static const unary table[2] = {soft, wave};
__attribute__((noinline)) static double tree(const double *x, int n) {
    if (n == 1) return exp(x[0] / 2);
    return tree(x, n / 2) * tree(x + n / 2, n - n / 2) + x[0];
}
struct node { double value; struct node *next; };
static double g(const double *x, int n) {
    struct node *list = 0;
    double sum = 0;
    kept = 1;
    for (int i = 0; i < n; i++) {
        struct node *new = malloc(sizeof *new);
        new->value = table[i % 2](x[i] * x[(i + 1) % n]);
        new->next = list;
        list = new;
    }
    while (list) {
        struct node *next = list->next;
        sum += list->value * list->value;
        free(list);
        list = next;
    }
    return sum + tree(x, n);
}
static void gradient(const double *x, double *d, int n) {
    __enzyme_autodiff_void((void *)g, enzyme_dup, x, d, enzyme_const, n);
}
static double slope(const double *x, const double *v, int n) {
    return __enzyme_fwddiff((void *)g, enzyme_dup, x, v, enzyme_const, n);
}
static double weighted(const double *x, const double *w, int n) {
    double d[8] = {0}, sum = 0;
    gradient(x, d, n);
    for (int i = 0; i < n; i++) sum += w[i] * d[i];
    return sum;
}
enum { n = 5 };
int main(void) {
    double x[n] = {0.1, 0.9, -0.3, 0.7, 0.6}, v[n] = {0.3, -0.2, 0.5, 1, -1}, w[n] = {1, 0.5, -0.2, 0.1, 2};
    double zero[n] = {0}, d[n] = {0}, tr[n] = {0}, rr[n] = {0}, rt[n] = {0}, twice = 0;
    __enzyme_fwddiff_void((void *)gradient, enzyme_dup, x, v, enzyme_dup, d, tr, enzyme_const, n);
    __enzyme_autodiff_void((void *)weighted, enzyme_dup, x, rr, enzyme_const, v, enzyme_const, n);
    __enzyme_autodiff_void((void *)slope, enzyme_dup, x, rt, enzyme_const, v, enzyme_const, n);
    double tt = __enzyme_fwddiff((void *)slope, enzyme_dup, x, w, enzyme_dup, v, zero, enzyme_const, n);
    for (int i = 0; i < n; i++) {
        double h = 1e-5, a[n] = {0}, b[n] = {0}, up[n], down[n];
        for (int j = 0; j < n; j++) up[j] = x[j] + h * v[j], down[j] = x[j] - h * v[j];
        gradient(up, a, n);
        gradient(down, b, n);
        CHECK_DIFFERENCE(tr[i], (a[i] - b[i]) / (2 * h));
        CHECK(rr[i], tr[i]);
        CHECK(rt[i], tr[i]);
        twice += w[i] * tr[i];
    }
    CHECK(tt, twice);
    return failures;
}
