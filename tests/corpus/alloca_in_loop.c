// Stack memory that grows with each trip and stays reachable.
double alloca_in_loop(double *x, int n) {
    double *last = x, s = 0;
    for (int i = 1; i < n; i++) {
        double *a = __builtin_alloca(i * sizeof *a);
        for (int k = 0; k < i; k++) a[k] = last[k / 2] * x[i] + 0.1;
        last = a;
        s += a[i - 1] * a[0];
    }
    return s;
}
