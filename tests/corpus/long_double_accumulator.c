// Doubles summed in long double.
double long_double_accumulator(double *x, int n) {
    long double s = 0, p = 1;
    for (int i = 0; i < n; i++) {
        s += (long double)x[i] * x[i];
        p *= s + x[i];
    }
    return (double)(s * p);
}
