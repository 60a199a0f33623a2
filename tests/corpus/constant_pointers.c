// Constant tables of pointers to static arrays, and a constant struct with a pointer and a number, copied to the stack.
struct view { double *data; double scale; int n; };
static double a[3], b[3];
static double *const table[3] = {a, b, b + 1};
static __attribute__((noinline)) double scaled(void *p, double u) {
    struct view *v = p;
    v->scale *= u;
    return v->data[v->n] * v->scale;
}
static __attribute__((noinline)) double added(void *p, double u) { return u + *(double *)p; }
static __attribute__((noinline)) double applied(double (*f)(void *, double), void *p, double u) { return f(p, u); }
double constant_pointers(double *x, int n) {
    double q = x[3], s = 0;
    for (int i = 0; i < 3; i++) a[i] = x[i] * x[3];
    for (int i = 0; i < 3; i++) table[1][i] = x[i + 3];
    for (int i = 0; i < 3; i++) s += table[(n + i) % 3][i % 2] * table[i][0];
    struct view v = {a, 0.57, 1};
    s = applied(scaled, &v, applied(added, &q, s)) + v.scale;
    for (int i = 0; i < 3; i++) a[i] = b[i] = 0;
    return s;
}
