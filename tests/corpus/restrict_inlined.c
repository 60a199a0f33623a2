// Inlined calls with restrict parameters: what one call writes, the next one reads, and writes in the next step.
// x: 12 -1 1
// n: 12
// y: 3
// m: 3
#include <math.h>
static void layer(int n, const double *restrict in, double *restrict out, double *restrict cell) {
    for (int i = 0; i < n; i++) {
        cell[i] = tanh(in[i] + out[i]) * cell[i] + in[i];
        out[i] = cell[i] * exp(-out[i]);
    }
}
void restrict_inlined(const double *x, int n, double *y, int m) {
    double state[64];
    for (int i = 0; i < n; i++) state[i] = x[i];
    for (int i = 0; i < 2 * m; i++) state[n + i] = 0.5;
    for (int t = 0; t < 3; t++)
        for (int j = 0; j + 2 * m < n; j += m) layer(m, state + j, state + j + m, state + n - j);
    for (int i = 0; i < m; i++) y[i] += state[n - 1 - i] * state[n + i] + state[2 * i];
}
