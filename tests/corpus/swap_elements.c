// Elements change places.
void swap_elements(double *x, int n, double *y, int m) {
    for (int i = 0; i < m; i++) {
        double t = x[i];
        x[i] = y[m - 1 - i];
        y[m - 1 - i] = t * x[i];
    }
}
