// A branch on memory that is overwritten before the reverse sweep asks again.
void condition_overwritten(double *x, int n, double *y, int m) {
    for (int i = 0; i < n; i++) {
        if (x[i] > 0.8) y[0] += x[i] * y[1];
        else y[1] += x[i] * y[0] * 0.5;
        x[i] = 2.0 - x[i] * x[i];
        if (x[i] > 1.3) y[2] += x[i] * y[0];
        x[i] = y[2] * 0.1 + x[i];
    }
}
