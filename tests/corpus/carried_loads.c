// Loads that are carried to the next iterations: forwards, backwards, in rows, from another start, and memory that changes.
// x: 12 0.5 1.5
// n: 12
// y: 8
// m: 4
void carried_loads(const double *restrict x, int n, double *restrict y, int m) {
    double last = x[0], before = x[1];
    for (int i = 2; i < n; i++) {
        y[0] += last * last * before * x[i];
        last = before;
        before = x[i];
    }
    double after = x[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        y[1] += after * after * x[i];
        after = x[i];
    }
    double none = 0;
    for (int i = 0; i < n; i++) {
        y[2] += none * none * x[i];
        none = x[i];
    }
    double wrong = x[1];
    for (int i = 0; i < n; i += 2) {
        y[3] += wrong * wrong * x[i];
        wrong = x[i];
    }
    for (int row = 0; row < 3; row++) {
        double p = x[row * m];
        for (int j = 1; j < m; j++) {
            double v = x[row * m + j];
            if (v * p > 1.9) break;
            y[4] += p * p * v;
            p = v;
        }
    }
    double z[12], old = x[m];
    for (int i = 0; i < n; i++) z[i] = x[i] * x[i];
    for (int i = m + 1; i < n; i++) {
        y[5] += old * old * z[i];
        old = z[i];
        z[i - 1] = 0.5 * old;
    }
    double kept = z[0];
    for (int i = 1; i < n; i++) {
        y[6] += kept * kept * z[i];
        kept = z[i];
    }
    for (int i = 0; i < n; i++) z[i] *= y[6];
    y[7] = z[3] * z[n - 2];
}
