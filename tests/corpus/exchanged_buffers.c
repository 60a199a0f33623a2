// Buffers that a loop exchanges: two, three in turn, a row by pointers that move on; and pointers that meet all the same.
// x: 24 0.2 1.1
// n: 6
// y: 5
// m: 5
#include <math.h>
#include <stdlib.h>
static double total(const double *p, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += p[i] * p[i] * (1 + 0.1 * i);
    return sum;
}
void exchanged_buffers(const double *x, int n, double *y, int m) {
    double *u = malloc(4 * n * sizeof *u), *v = malloc(4 * n * sizeof *v), *w = malloc(4 * n * sizeof *w);
    for (int i = 0; i < 4 * n; i++) u[i] = x[i], v[i] = 0.5 * x[i], w[i] = 0.1 * x[i];
    for (int t = 0; t < m; t++) { /* a stencil in two dimensions */
        for (int i = 1; i < 3; i++)
            for (int j = 1; j < n - 1; j++)
                v[i * n + j] = 0.3 * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1] + u[i * n + j + 1]) - 0.1 * u[i * n + j] * u[i * n + j];
        double *s = u;
        u = v, v = s;
    }
    y[0] += total(u, 4 * n);
    for (int t = 0; t < m; t++) { /* three in turn, a wave */
        for (int i = 1; i < n - 1; i++) w[i] = 1.5 * v[i] - u[i] + 0.3 * x[i] * (v[i - 1] - 2 * v[i] + v[i + 1]) * v[i];
        double *s = u;
        u = v, v = w, w = s;
    }
    y[1] += total(v, n);
    for (int t = 0; t < m; t++) { /* products with what the last step made, by pointers that move on */
        double *to = v;
        for (int i = 0; i < n; i++) {
            double sum = 0;
            const double *from = u, *row = x + i;
            for (int j = 0; j < n; j++) sum += *row++ * *from * *from, from++;
            *to++ = tanh(0.2 * sum);
        }
        double *s = u;
        u = v, v = s;
    }
    y[2] += total(u, n);
    double *p = u, *q = x[0] > 5 ? w : u; /* one buffer under two names */
    for (int t = 0; t < m; t++) {
        for (int i = 1; i < n - 1; i++) q[i] = 0.4 * (p[i - 1] + p[i] * p[i] + p[i + 1]);
        double *s = p;
        p = q, q = s;
    }
    y[3] += total(p, n);
    for (int t = 0; t < m; t++) { /* exchanged at times, and once both the same */
        for (int i = 1; i < n - 1; i++) v[i] = 0.4 * (u[i - 1] + u[i] * u[i] + u[i + 1]);
        double *s = u;
        if (x[t] > 0.5) u = v, v = s;
        if (t == 2) v = u;
    }
    y[4] += total(u, n) + total(v, n);
    free(w); /* u and v may be one */
}
