// Memory of the caller's that not every iteration fills before it reads it, or that one fills which others only change:
// what is there at first, or from earlier iterations, counts, and adjoints of what is there at last are of several of them.
// x: 12
// h: 3
// g: 3
// e: 4
// d: 3
// n: 4
// m: 3
// flag: 1
#include <math.h>
double fused_not_workspace(const double *restrict x, double *restrict h, double *restrict g, double *restrict e,
                           double *restrict d, int n, int m, int flag) {
    double sum = 0, second = 0, third = 0, fourth = 0;
    for (int i = 0; i < n; i++)
        if (x[m * i] > 0.4) {
            for (int j = 0; j < m; j++) h[j] = exp(-x[m * i + j]);
            for (int l = 0; l < m; l++)
                for (int j = 0; j < m; j++) sum += h[j] * h[l] * x[j];
        }
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < 2; l++)
            for (int j = 0; j < m; j++) second += g[j] * g[j] * x[m * i + l];
        for (int j = 0; j < m; j++) g[j] = exp(-x[m * i + j]);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) e[j] = sin(x[m * i + j]);
        e[m] *= x[i] + 0.5;
        for (int l = 0; l < 2; l++)
            for (int j = 0; j < m; j++) third += e[j] * e[j] * x[m * i + l];
    }
    for (int i = 0; i < n; i++) {
        if (flag != i)
            for (int j = 0; j < m; j++) d[j] = exp(-x[m * i + j]);
        for (int l = 0; l < 2; l++)
            for (int j = 0; j < m; j++) fourth += d[j] * d[j] * x[m * i + l];
    }
    return sum + second - third + fourth;
}
