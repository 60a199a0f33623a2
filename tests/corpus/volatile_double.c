// Volatile floats.
double volatile_double(double *x, int n) {
    volatile double s = 0;
    for (int i = 0; i < n; i++) s = s * x[i] + 1;
    return s;
}
