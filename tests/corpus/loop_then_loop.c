// The second loop reads what the first one kept in memory and in registers.
void loop_then_loop(double *x, int n, double *y, int m) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += x[i] * x[i];
        x[i] *= s;
    }
    for (int j = 0; j < m; j++) y[j] = y[j] * x[j] / s;
}
