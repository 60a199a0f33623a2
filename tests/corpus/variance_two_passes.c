// Mean, then squared distances from it.
double variance_two_passes(const double *x, int n) {
    double mean = 0, v = 0;
    for (int i = 0; i < n; i++) mean += x[i] / n;
    for (int i = 0; i < n; i++) v += (x[i] - mean) * (x[i] - mean);
    return v / (n - 1);
}
