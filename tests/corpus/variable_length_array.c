// VLAs, also within a loop.
double variable_length_array(double *x, int n) {
    double a[n], s = 0;
    for (int i = 0; i < n; i++) a[i] = x[i] * x[0];
    for (int k = 1; k < n; k++) {
        double b[k];
        for (int i = 0; i < k; i++) b[i] = a[i] * (s + 1);
        s = 0.2 * b[k - 1] * b[0];
    }
    return s;
}
