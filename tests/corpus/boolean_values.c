// Comparisons as numbers.
double boolean_values(double *x, int n) {
    double s = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        _Bool big = x[i] > 0.8;
        count += big;
        s += x[i] * big + (x[i] > 0.5) * x[i] * x[i];
    }
    return s * count + s;
}
