// Rows made orthonormal, one after another.
// x: 9 -1 1
// n: 3
#include <math.h>
void gram_schmidt(double *x, int n) {
    for (int i = 0; i < n; i++) {
        double *r = x + i * n, norm = 0;
        for (int j = 0; j < i; j++) {
            double *q = x + j * n, d = 0;
            for (int k = 0; k < n; k++) d += r[k] * q[k];
            for (int k = 0; k < n; k++) r[k] -= d * q[k];
        }
        for (int k = 0; k < n; k++) norm += r[k] * r[k];
        norm = sqrt(norm);
        for (int k = 0; k < n; k++) r[k] /= norm;
    }
}
