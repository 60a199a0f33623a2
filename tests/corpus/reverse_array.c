// An array turned around in place, then weighted.
void reverse_array(double *x, int n) {
    for (int i = 0; i < n / 2; i++) {
        double t = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = t;
    }
    for (int i = 0; i < n; i++) x[i] *= x[0] * (i + 1);
}
