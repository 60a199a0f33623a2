// An inner accumulator that starts afresh in each outer trip.
void inner_accumulator_reset(double *x, int n, double *y, int m) {
    for (int j = 0; j < m; j++) {
        double s = 0;
        for (int i = 0; i < n; i++) s += x[i] * (j + 1) * s + x[i];
        y[j] = s * y[j];
    }
}
