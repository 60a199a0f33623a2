// Floats in memory, the sum in double.
double float_accumulated_in_double(const float *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += (double)x[i] * x[i] * (1 + s);
    return s;
}
