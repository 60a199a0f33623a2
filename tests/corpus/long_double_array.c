// Arrays of long double.
void long_double_array(long double *x, int n, long double *y, int m) {
    for (int i = 0; i < n; i++) {
        y[i % m] += x[i] * x[(i + 1) % n];
        x[i] = x[i] / (1 + y[i % m]);
    }
}
