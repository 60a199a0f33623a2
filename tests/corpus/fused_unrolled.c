// Scratch memory that unrolled loops fill element by element, and some of which an element is from the iteration before.
// x: 9 0.2 0.9
// n: 9
// m: 4
#include <stdlib.h>
double fused_unrolled(const double *x, int n, int m) {
    double *row = malloc(6 * sizeof *row), *out = malloc(6 * sizeof *out), sum = 0;
    double *line = malloc(6 * sizeof *line), *left = malloc(6 * sizeof *left), other = 0;
    for (int k = 0; k < 6; k++) left[k] = x[k];
    for (int i = 0; i < n; i++)
        for (int c = 0; c < m; c++) {
            for (int k = 0; k < 6; k++) row[k] = x[(i + k) % n] * x[c];
            for (int k = 0; k < 6; k++) out[k] = row[k] * x[k];
            for (int j = 0; j < 6; j++)
                for (int k = j + 1; k < 6; k++) out[k] += row[j] * out[k] * x[k - j];
            for (int k = 0; k < 6; k++) sum += out[k] * out[k];
        }
    for (int i = 0; i < n; i++)
        for (int c = 0; c < m; c++) {
            for (int k = 0; k < 6; k++) line[k] = x[i] * x[k] + x[c];
            for (int k = 0; k < 5; k++) left[k] = line[k] * x[k];
            for (int j = 0; j < 6; j++)
                for (int k = j + 1; k < 6; k++) left[k] += 0.1 * line[j] * left[k] * x[k - j];
            for (int k = 0; k < 6; k++) other += left[k] * left[k];
        }
    free(left), free(line), free(out), free(row);
    return sum + other;
}
