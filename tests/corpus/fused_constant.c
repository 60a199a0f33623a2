// Sizes that are known: LLVM moves the last store to a scratch array behind the loop, where nothing reads it.
// x: 15
// y: 30
// n: 3
#include <math.h>
#include <stdlib.h>
enum { D = 10, K = 3 };
double fused_constant(const double *restrict x, int n, const double *restrict y) {
    double *q = malloc(D * sizeof *q), *t = malloc(K * sizeof *t), total = 0;
    if (q && t) {
        for (int i = 0; i < n; i++) {
            for (int c = 0; c < K; c++) {
                for (int j = 0; j < D; j++) q[j] = y[D * c + j] * x[5 * i + j % 5];
                for (int j = 0; j < D; j++)
                    for (int k = j + 1; k < D; k++) q[k] += x[(k - j) % 5] * x[5 * i + j % 5];
                double s = 0;
                for (int j = 0; j < D; j++) s += q[j] * q[j];
                t[c] = -0.1 * s;
            }
            double sum = 0;
            for (int c = 0; c < K; c++) sum += exp(t[c]);
            total += log(sum);
        }
    }
    free(t), free(q);
    return total;
}
