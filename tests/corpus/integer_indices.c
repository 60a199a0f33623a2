// Indices computed from other integers, gathered and scattered.
// k: 6 values 3 0 5 1 1 4
void integer_indices(double *x, int n, int *k, double *y, int m) {
    for (int i = 0; i < n; i++) y[k[i] % m] += x[k[(i * 7 + 3) % n]] * y[(k[i] + i) % m];
    for (int i = 0; i < n; i++) k[i] = (k[i] + 1) % n;
    for (int i = 0; i < n; i++) x[k[i]] *= y[i % m];
}
