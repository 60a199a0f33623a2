// Volatile integers.
double volatile_counter(double *x, int n) {
    volatile int i;
    double s = 0;
    for (i = 0; i < n; i++) s = s * x[i] + 1;
    return s;
}
