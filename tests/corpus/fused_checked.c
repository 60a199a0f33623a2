// Loops that might end the program, and arrays that are filled whole and read at any place.
// y: 2
// x: 18
// index: 3 values 2 0 5
// n: 3
// m: 6
#include <math.h>
#include <stdlib.h>
double fused_checked(const double *restrict x, const int *restrict index, int n, int m, double *restrict y) {
    double *a = malloc(m * sizeof *a), b[4], total = 0, other = 0;
    if (!a) abort();
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) a[j] = exp(x[m * i + j]);
        double s = 1;
        for (const double *p = a; p < a + m; p++) {
            if (index[i] < 0 || index[i] >= m) abort();
            s += *p * sin(a[index[i]]) * sqrt(s);
        }
        total += s;
    }
    y[0] = 3 * total;
    for (int i = 0; i < n; i++) {
        b[0] = x[6 * i], b[1] = sin(b[0]), b[2] = b[0] * b[1], b[3] = 2;
        double s = 1;
        for (int j = 0; j < m; j++) s += exp(-s * b[index[i] & 3]) * b[j & 3];
        other += s;
    }
    free(a);
    y[1] = other;
    return 2 * total + y[0];
}
