// LU with partial pivoting and its determinant.
// x: 16 -1 1
// n: 4
#include <math.h>
double lu_pivoting(double *x, int n) {
    double det = 1;
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(x[i * n + k]) > fabs(x[p * n + k])) p = i;
        if (p != k) {
            for (int j = 0; j < n; j++) {
                double t = x[k * n + j];
                x[k * n + j] = x[p * n + j];
                x[p * n + j] = t;
            }
            det = -det;
        }
        det *= x[k * n + k];
        for (int i = k + 1; i < n; i++) {
            x[i * n + k] /= x[k * n + k];
            for (int j = k + 1; j < n; j++) x[i * n + j] -= x[i * n + k] * x[k * n + j];
        }
    }
    return det;
}
