// Layers over buffers that are exchanged, then a sum over the same count: LLVM tests twice whether the last layer is done.
// x: 40 0.2 0.7
// n: 3
#include <math.h>
#include <stdlib.h>
double layers_then_sum(const double *x, int n) {
    double *h = malloc(n * sizeof *h), *g = malloc(n * sizeof *g), s = 0;
    for (int i = 0; i < n; i++) h[i] = x[4 * n * n + i];
    for (int l = 0; l < 4; l++) {
        const double *w = x + l * n * n;
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += w[i * n + j] * h[j];
            g[i] = tanh(sum);
        }
        double *t = h;
        h = g;
        g = t;
    }
    for (int i = 0; i < n; i++) s += h[i] * h[i];
    free(h);
    free(g);
    return s;
}
