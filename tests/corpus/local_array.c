// A local array that is filled, changed and read.
double local_array(double *x, int n) {
    double a[8] = {0};
    for (int i = 0; i < n; i++) a[i] = x[i] * x[(i + 1) % n];
    for (int i = 1; i < n; i++) a[i] *= a[i - 1] + 1;
    return a[n - 1] + a[n / 2] * x[0];
}
