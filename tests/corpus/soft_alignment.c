// Dynamic programming over a table with a smooth minimum.
// y: 4
#include <math.h>
double soft_alignment(const double *x, int n, const double *y, int m) {
    double t[7][5];
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                t[i][j] = i == j ? 0 : 3;
                continue;
            }
            double d = (x[i - 1] - y[j - 1]) * (x[i - 1] - y[j - 1]);
            t[i][j] = d - log(exp(-t[i - 1][j]) + exp(-t[i][j - 1]) + exp(-t[i - 1][j - 1]));
        }
    return t[n][m];
}
