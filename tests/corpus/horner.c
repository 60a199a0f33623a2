// A polynomial and its derivative by Horner's scheme.
void horner(double *x, int n, double *y, int m) {
    double p = 0, d = 0;
    for (int i = 0; i < n; i++) {
        d = d * y[0] + p;
        p = p * y[0] + x[i];
    }
    y[1] = p;
    y[2] = d;
}
