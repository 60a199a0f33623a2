// __float128: arithmetic by calls of compiler-rt, conversions from and to double.
double quad_precision(double *x, int n) {
    __float128 s = 1;
    for (int i = 0; i < n; i++) { __float128 a = x[i]; s = s * a + a / (s + 1); }
    return (double)s * x[0];
}
