// Stores that are overwritten before anybody reads them.
void dead_stores(double *x, int n, double *y, int m) {
    for (int i = 0; i < n; i++) {
        y[0] = x[i] * 100;
        y[0] = x[i] * x[i];
        y[1] = y[0] + 1;
        y[1] = y[1] * y[0];
    }
}
