// What ends the program is read from memory that the loop writes; an array is longer than what is filled of it.
// x: 18
// index: 3 values 2 0 5
// n: 3
// m: 6
#include <math.h>
#include <stdlib.h>
double fused_not_checked(const double *restrict x, const int *restrict index, int n, int m) {
    double *a = malloc(m * sizeof *a), *b = calloc(m + 1, sizeof *b), total = 0, other = 0;
    if (!a || !b) abort();
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) a[j] = exp(x[m * i + j]);
        double s = 1;
        for (int j = 0; j < m; j++) {
            if (a[index[i]] > 1e9) abort();
            s += a[j] * sqrt(s);
        }
        total += s;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) b[j] = exp(x[m * i + j]) + b[j + 1];
        b[m - index[i] % 2] = x[i];
        double s = 1;
        for (int j = 0; j < m; j++) s += b[j + index[i] % 2] * sqrt(s);
        other += s;
    }
    free(a), free(b);
    return total * 2 - other;
}
