// Scratch memory of the caller's: what the last iteration leaves there is a result, and so are its adjoints. One is filled
// and changed under a condition, of one two parts are used, one holds floats of 32 bits.
// x: 12
// w: 12
// h: 3
// g: 7
// e: 4 float
// y: 2
// n: 4
// m: 3
#include <math.h>
void fused_workspace(const double *restrict x, const double *restrict w, double *restrict h, double *restrict g,
                     float *restrict e, double *restrict y, int n, int m) {
    double sum = h[0] * g[6], other = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) {
            double inner = 0.1;
            for (int l = 0; l < m; l++) inner += w[3 * j + l] * x[m * i + l];
            h[j] = tanh(inner);
        }
        if (x[m * i] > 0.5)
            for (int j = 0; j < m; j++) h[j] *= h[j] + x[m * i + j];
        for (int l = 0; l < 2; l++) {
            double inner = 0;
            for (int j = 0; j < m; j++) inner += w[m * l + j] * h[j];
            sum += inner * inner;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) g[j] = sin(x[m * i + j] * w[j]);
        for (int j = 0; j < m; j++) (g + m)[j] = g[j] * g[j] * w[j];
        for (int j = 0; j < m; j++) e[j] = (float)exp(-x[m * i + j]);
        for (int l = 0; l < m; l++) {
            for (int j = 0; j < m; j++) other += w[l + j] * e[j] * e[j];
            for (int j = 0; j < m; j++) other += (g + m)[j] * g[j] * w[l + j];
        }
    }
    y[0] = sum;
    y[1] = other;
}
