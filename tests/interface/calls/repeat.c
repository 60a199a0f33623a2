/* One tape, read more than once. */
#include "check.h"

typedef struct { void *tape; double value; } kept;
kept __enzyme_augmentfwd_value(void *, ...);
void __enzyme_reverse(void *, ...);
double __enzyme_reverse_double(void *, ...);

typedef struct node { double v; struct node *next; } node;
static double list(const double *x, int n) {
    node *head = 0;
    for (int i = 0; i < n; i++) {
        node *t = calloc(1, sizeof *t);
        if (i != 1) t->v = x[i] * x[i];
        t->next = head, head = t;
    }
    double s = 1;
    for (node *t = head; t; t = t->next) s = s * 0.5 + sin(t->v) * s;
    while (head) { node *t = head->next; free(head); head = t; }
    return s;
}
__attribute__((noinline)) static double part(const double *x, int n, int k) {
    double t[4] = {0}, *u = malloc(n * sizeof *u), s = 0;
    for (int i = 0; i < n; i++) t[i % 4] += x[i] * x[(i + k) % n], u[i] = t[i % 4] * x[i];
    memmove(u + 1, u, (n - 1) * sizeof *u);
    for (int i = 0; i < n; i++) s += u[i] * t[(i + 1) % 4];
    free(u);
    return s;
}
static double global[3];
static double all(const double *x, int n) {
    double s = 0;
    for (int k = 0; k < n; k++) s += part(x, n, k) * x[k];
    for (double e = s; fabs(e) > 1e-3; e *= 0.5) s += sin(e), global[0] += e;
    return s * (1 + sin(global[0]));
}

static void check(double (*f)(const double *, int), const double *x, const double *dx, double seed) {
    for (int i = 0; i < 5; i++) {
        double u[5], v[5], h = 1e-6;
        memcpy(u, x, sizeof u), memcpy(v, x, sizeof v), u[i] += h, v[i] -= h;
        global[0] = 0.25;
        double high = f(u, 5);
        global[0] = 0.25;
        double low = f(v, 5);
        CHECK_DIFFERENCE(dx[i], seed * (high - low) / (2 * h));
    }
}

int main(void) {
    double x[5] = {0.3, 0.7, 1.1, -0.4, 0.9}, dx[5] = {0}, same[5], lost[5] = {0};
    memcpy(same, x, sizeof x);
    kept a = __enzyme_augmentfwd_value((void *)list, x, dx, 5);
    global[0] = 0.25;
    kept b = __enzyme_augmentfwd_value((void *)all, x, dx, 5);
    memset(x, 0, sizeof x);
    for (int n = 1; n <= 3; n++) {
        memset(dx, 0, sizeof dx);
        __enzyme_reverse((void *)list, enzyme_nofree, x, dx, 5, (double)n, a.tape);
        check(list, same, dx, n);
        memset(dx, 0, sizeof dx);
        __enzyme_reverse((void *)all, enzyme_nofree, x, dx, 5, (double)n, b.tape);
        check(all, same, dx, n);
    }
    memset(dx, 0, sizeof dx);
    __enzyme_reverse((void *)all, x, dx, 5, 5.0, b.tape);
    check(all, same, dx, 5);
    memset(dx, 0, sizeof dx);
    __enzyme_reverse((void *)list, x, dx, 5, 5.0, a.tape);
    check(list, same, dx, 5);
    return failures;
}
