// Arrays that each iteration fills before it reads them: one of n elements, one whose sum is taken from the middle on.
// x: 18
// n: 3
// m: 6
// y: 6
#include <math.h>
#include <stdlib.h>
double fused_private(const double *restrict x, int n, int m, const double *restrict y) {
    double *a = malloc(m * sizeof *a), *b = malloc(m * sizeof *b), total = 0;
    if (a && b) {
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < m; j++) a[j] = exp(x[m * i + j] - y[j]);
            for (int j = 0; j < m; j++) b[j] = a[j] * y[j];
            for (int j = 0; j < m; j++)
                for (int k = j + 1; k < m; k++) b[k] += a[j] * sin(b[k]);
            double top = -1, sum = 0;
            for (int j = 0; j < m; j++) if (b[j] > top) top = b[j];
            for (int j = 0; j < m; j++) sum += exp(b[j] - top);
            total += top + log(sum);
        }
    }
    free(b);
    free(a);
    return 2 * total + y[0];
}
