// Scratch memory is filled by a loop that LLVM enters if there are elements, and read in loops under the same condition;
// elsewhere under another one, which says no less.
// x: 12
// w: 12
// n: 4
// m: 3
// k: 2
// flag: 1
#include <math.h>
#include <stdlib.h>
double fused_guarded(const double *restrict x, const double *restrict w, int n, int m, int k, int flag) {
    double *h = malloc(sizeof *h * m), *g = malloc(sizeof *g * m), sum = 0, other = 0;
    if (!h || !g) return 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) {
            double inner = 0.1;
            for (int l = 0; l < m; l++) inner += w[3 * j + l] * x[m * i + l];
            h[j] = tanh(inner);
        }
        for (int l = 0; l < k; l++) {
            double inner = 0;
            for (int j = 0; j < m; j++) inner += w[m * l + j] * h[j];
            sum += inner * inner;
        }
    }
    for (int i = 0; i < n; i++) {
        if (flag)
            for (int j = 0; j < m; j++) g[j] = exp(-x[m * i + j]);
        for (int l = 0; l < k; l++)
            if (flag)
                for (int j = 0; j < m; j++) other += w[m * l + j] * g[j] * g[j];
    }
    free(g);
    free(h);
    return sum + other;
}
