// Three loops, the innermost bound independent of the others.
// n: 4
// m: 3
void triple_nest(double *x, int n, double *y, int m) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < n; k++) y[j] = 0.9 * y[j] + 0.1 * x[i] * x[k] * y[(j + k) % m];
}
