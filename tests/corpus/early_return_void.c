// A function without result that stops half-way, after some of its writes.
void early_return_void(double *x, int n, double *y, int m) {
    y[0] = x[0] * x[1];
    if (y[0] > 5.0) return;
    y[1] = y[0] * x[2];
    for (int i = 0; i < n; i++) {
        y[2] += x[i] * y[1];
        if (y[2] > 2.0) return;
    }
    y[3] = y[2] * y[0];
}
