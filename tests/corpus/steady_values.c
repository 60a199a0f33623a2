// Values that are the same in each iteration of a loop around their own, in a recurrence that changes them afterwards.
// x: 16 0.2 1.1
// n: 4
// y: 3
// m: 3
#include <math.h>
void steady_values(const double *restrict x, int n, double *restrict y, int m) {
    double h[8], g[8];
    for (int i = 0; i < n; i++) h[i] = x[i];
    for (int t = 0; t < m; t++) {
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += x[i * n + j] * h[j] * h[j];
            g[i] = sin(sum);
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) g[i] += exp(0.3 * h[j]) * exp(0.3 * h[j]) * x[j * n + i];
        for (int i = 0; i < n; i++)
            if (x[i] > 0.6)
                for (int j = 0; j < n; j++) g[i] += h[j] * h[j] * x[j];
        for (int i = 0; i < n; i++) {
            double p = h[0];
            for (int j = 1; j < n; j++) {
                p = p * h[j] + 0.1;
                g[i] += p * p * x[i];
            }
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (x[i * n + j] > 0.6) g[i] += h[j] * sqrt(h[j] + 2);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++)
                for (int j = 0; j < n; j++) g[i] += h[j] * x[k] * h[j] * x[i];
        for (int i = 0; i < n; i++) h[i] = 0.5 * tanh(g[i]);
        y[t] += h[0] * h[1] + h[n - 1];
    }
}
