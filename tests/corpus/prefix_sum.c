// Prefix sums in place, then products.
void prefix_sum(double *x, int n) {
    for (int i = 1; i < n; i++) x[i] += x[i - 1];
    for (int i = 1; i < n; i++) x[i] *= x[i - 1];
}
