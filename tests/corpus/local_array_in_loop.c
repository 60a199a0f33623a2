// A local array whose life is one trip.
double local_array_in_loop(double *x, int n) {
    double s = 1;
    for (int k = 0; k < n; k++) {
        double a[4];
        for (int i = 0; i < 4; i++) a[i] = x[(i + k) % n] * s;
        a[1] *= a[0];
        a[2] += a[1] * a[3];
        s = 0.3 * a[2] + 0.1;
    }
    return s;
}
