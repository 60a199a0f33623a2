// Steps other than one, sizes of 64 bits.
// n: 9
double strided_loop(double *x, long n) {
    double s = 0;
    for (long i = 0; i < n; i += 2) s = s * 0.5 + x[i] * x[i];
    for (long i = n - 1; i >= 0; i -= 3) s *= x[i];
    for (long i = 1; i < n; i *= 2) s += x[i] * s;
    return s;
}
