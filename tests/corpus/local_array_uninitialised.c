// A local array of which only a part is ever written and read.
// k: 2
double local_array_uninitialised(double *x, int n, int k) {
    double a[100];
    for (int i = 0; i < k; i++) a[i * 7] = x[i] * x[i];
    double s = 0;
    for (int i = 0; i < k; i++) s += a[i * 7] * x[i + 1];
    return s;
}
