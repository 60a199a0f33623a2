// Scratch memory that is filled only where a condition holds, or after it is read: what earlier iterations left counts.
// x: 12
// w: 12
// n: 4
// m: 3
// k: 2
// flag: 0
#include <math.h>
#include <stdlib.h>
double fused_not_guarded(const double *restrict x, const double *restrict w, int n, int m, int k, int flag) {
    double *h = malloc(sizeof *h * m), *g = malloc(sizeof *g * m), *e = malloc(sizeof *e * m);
    double sum = 0, second = 0, third = 0;
    if (!h || !g || !e) return 0;
    for (int j = 0; j < m; j++) h[j] = g[j] = e[j] = x[j] * x[j + 1];
    for (int i = 0; i < n; i++) {
        if (flag)
            for (int j = 0; j < m; j++) h[j] = exp(-x[m * i + j]);
        for (int l = 0; l < k; l++) {
            double inner = 0;
            for (int j = 0; j < m; j++) inner += w[m * l + j] * h[j];
            sum += inner * inner;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < k; l++) {
            double inner = 0;
            for (int j = 0; j < m; j++) inner += w[m * l + j] * g[j];
            second += sin(inner) * inner;
        }
        for (int j = 0; j < m; j++) g[j] = exp(-x[m * i + j]);
    }
    for (int i = 0; i < n; i++) {
        if (flag != i)
            for (int j = 0; j < m; j++) e[j] = 0.3 * x[m * i + j] * w[j];
        for (int l = 0; l < k; l++)
            if (!flag)
                for (int j = 0; j < m; j++) third += w[m * l + j] * e[j] * e[j];
    }
    free(e);
    free(g);
    free(h);
    return sum + second - third;
}
