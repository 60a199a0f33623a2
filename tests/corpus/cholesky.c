// Cholesky factor of A = X X^T + 3 I, in place.
// x: 9
// n: 3
#include <math.h>
void cholesky(double *x, int n) {
    double a[16];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = i == j ? 3.0 : 0.0;
            for (int k = 0; k < n; k++) a[i * n + j] += x[i * n + k] * x[j * n + k];
        }
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++)
            for (int i = j; i < n; i++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
        double d = sqrt(a[j * n + j]);
        for (int i = j; i < n; i++) a[i * n + j] /= d;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) x[i * n + j] = j <= i ? a[i * n + j] : 0;
}
