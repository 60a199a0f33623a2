// Pointers to constant memory and pointers to active memory meet. `own`: buffers that are their own shadows.
void sincos(double, double *, double *);
#include <stdlib.h>
#include <string.h>

// ==
// own: c
double chosen(const double *a, const double *c, int k, int n) {
    const double *p = k ? a : c;
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += p[i] * p[i] * a[i];
        p = p == a ? c : a;
    }
    return s;
}
// ==
// rows: pointers 3 4
// own: rows[1]
// constant: 4 8
double rows_of_both_kinds(double **rows, int n) {
    double s = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) s *= rows[i][j] + 0.1 * rows[0][j];
    for (int j = 0; j < 4; j++) rows[2][j] *= s;
    return s;
}
// ==
// own: c
void written_in_place(double *a, double *c, double *y, int n) {
    y[0] = 0;
    for (int i = 0; i < n; i++) {
        double *p = i % 2 ? a : c;
        p[i] = p[i] * 2 + 1;
        y[i % 4] += p[i] * a[i];
    }
}
// ==
// own: c
static void __attribute__((noinline)) step(double **p, double *to, int n) {
    for (int i = 0; i < n; i++) to[i] += p[i % 3][i] * p[(i + 1) % 3][i];
}
double local_array(double *a, double *c, int n) {
    double *p[3] = {a, c, a}, s = 0;
    double *w = malloc(n * sizeof *w);
    memset(w, 0, n * sizeof *w);
    for (int k = 0; k < 3; k++) {
        step(p, w, n);
        double *t = p[0]; p[0] = p[1]; p[1] = p[2]; p[2] = t;
    }
    for (int i = 0; i < n; i++) s += w[i] * w[i];
    free(w);
    return s;
}
// ==
// own: c
double copies(double *a, double *c, int n, int k) {
    double t[6], u[6];
    memcpy(t, k ? a : c, n * sizeof *t);
    memcpy(u, k ? c : a, n * sizeof *u);
    double *to = k ? c : a;
    double s = 0;
    for (int i = 0; i < n; i++) s += t[i] * u[i];
    memcpy(to, t, n * sizeof *t);
    memmove(a + 1, a, (n - 1) * sizeof *a);
    memmove(to, to + 2, (n - 2) * sizeof *to);
    for (int i = 0; i < n; i++) s += a[i] * (i + 1);
    return s;
}
// ==
// own: c
void cleared(double *a, double *c, int n, int k) {
    double *p = k ? a : c, *q = k ? c : a;
    for (int i = 0; i < n; i++) a[i] *= a[i] * q[i];
    memset(p, 0, 2 * sizeof *p);
    memset(q, 0, sizeof *q);
}
// ==
// own: c
static double *__attribute__((noinline)) pick(double *a, double *c, int k) { return k > 1 ? a + 1 : k ? c : c + 1; }
static double __attribute__((noinline)) power(double *p, int n) { return n ? p[0] * power(p, n - 1) : 1; }
double returned(double *a, double *c, int n) {
    double s = 0;
    for (int k = 0; k < 4; k++) s += power(pick(a, c, k), k + 1) * a[k];
    return s;
}
// ==
// own: c
double outputs(double *a, double *c, int k) {
    double *p = k ? c : a;
    sincos(a[2] * a[3], p, a + 1);
    sincos(a[2] + a[1], a + 4, p + 3);
    return a[1] * a[4] + a[5] * a[2];
}
// ==
// own: c
double allocated(double *a, double *c, int n, int k) {
    double s = 0;
    for (int j = 0; j < k; j++) {
        double *t = j % 2 ? malloc(n * sizeof *t) : c;
        if (j % 2) for (int i = 0; i < n; i++) t[i] = a[i] * c[i];
        for (int i = 0; i < n; i++) s += t[i] * a[i];
        if (t != c) free(t);
    }
    return s;
}
// ==
// own: c
typedef struct Node { double v; double *p; int k; struct Node *next; } Node;
double nodes(double *a, double *c, int n) {
    Node m[6], *list = NULL, copy;
    for (int i = 0; i < n; i++) {
        m[i] = (Node){a[i], i % 3 ? a : i % 2 ? c : NULL, (i * 5) % n, list};
        list = &m[i];
    }
    double s = 0;
    for (Node *at = list; at; at = at->next) {
        memcpy(&copy, at, sizeof copy);
        if (copy.p) s += copy.v * copy.p[copy.k];
    }
    return s;
}
// ==
// s: [("k", "i4"), ("v", "f8")] 4 k=2,0,1,3
// own: c
typedef struct { int k; double v; } Cell;
static Cell __attribute__((noinline)) *cell_of(Cell *s, Cell *t, int n) { return n % 2 ? s : t; }
double cells(Cell *s, const double *a, const double *c, int n) {
    Cell t[4];
    memcpy(t, s, sizeof t);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        const double *p = (t[i].k & 1) ? a : c;
        cell_of(s, t, i)->v *= p[t[i].k];
        sum += t[i].v * s[i].v;
    }
    return sum;
}
// ==
// s: [("k", "i4"), ("v", "f8")] 4 k=2,0,1,3
// own: s
double constant_cells(Cell *s, const double *a, int n) {
    Cell t[4];
    memcpy(t, s, sizeof t);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        t[i].v *= a[t[i].k];
        sum += t[i].v * cell_of(s, t, i)->v;
        s[i].k += 1;
        sum += a[s[i].k];
    }
    return sum;
}
// ==
// own: c
static double *through;
double by_global(double *a, double *c, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        through = i % 2 ? a : c;
        s += through[i] * a[0];
    }
    return s;
}
// ==
// own: c
static const double table[6] = {1, 2, 3, 4, 5, 6};
double tables(const double *a, const double *c, int n) {
    const double *p[3] = {table, a, c};
    double s = 0;
    for (int i = 0; i < n; i++) s += p[i % 3][i] * p[(i * i) % 3][0];
    return s;
}
// ==
// own: c
typedef double pair __attribute__((vector_size(16)));
double vectors(const double *a, const double *c, int k, int n) {
    const pair *p = (const pair *)(k ? a : c), *q = (const pair *)a;
    pair t = {0, 0};
    for (int i = 0; i < 3; i++) { t += p[i] * q[i]; p = p == q ? (const pair *)c : q; }
    return t[0] * t[1];
}
// ==
// own: c
double bits(double *a, double *c, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        double *p = i % 2 ? a : c;
        s += p[i] * a[i];
        long word = 0x3ff0000000000000 + ((long)i << 50);
        memcpy(p + i, &word, sizeof word);
        s += p[i] * p[i] * a[0];
    }
    return s;
}
