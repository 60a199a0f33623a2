// Floats by value beside a pointer that is read and written, active result.
double scalars_and_pointer(double a, double *x, int n, double b) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += a * x[i] * x[i];
        x[i] = b * x[i] + a;
    }
    return s * b;
}
