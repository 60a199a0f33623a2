// Mean and variance updated together.
double welford_variance(const double *x, int n) {
    double mean = 0, v = 0;
    for (int i = 0; i < n; i++) {
        double d = x[i] - mean;
        mean += d / (i + 1);
        v += d * (x[i] - mean);
    }
    return v / n + mean;
}
