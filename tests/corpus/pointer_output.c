// Static functions with several results through pointers.
static void minmax(const double *x, int n, double *lo, double *hi) {
    *lo = *hi = x[0];
    for (int i = 1; i < n; i++) {
        if (x[i] < *lo) *lo = x[i];
        if (x[i] > *hi) *hi = x[i];
    }
}
double pointer_output(double *x, int n) {
    double lo, hi;
    minmax(x, n, &lo, &hi);
    return lo * hi + hi * hi;
}
