// Blocks that are read from both ends, so that two adjoints run towards each other and meet in the middle.
// x: 14 0.5 1.5
// n: 14
// y: 3
void collected_ends(const double *restrict x, int n, double *restrict y) {
    for (int i = 0; i + 7 <= n; i += 7) {
        double t = 0;
        for (int j = 0; j < 7; j++) t += x[i + j] * x[i + 6 - j] * (1 + j);
        y[0] += t * t;
    }
    long last = n - 1;
    for (long j = 0; j < n; j++) y[1] += x[j] * x[j] * x[last - j];
    for (int j = 0; j + 3 < n; j++) y[2] += x[n - 1 - j] * x[j + 3] * x[j];
}
