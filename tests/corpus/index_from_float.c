// A float rounded to an index.
double index_from_float(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        int k = (int)(x[i] * 4.0);
        s += x[k % n] * (x[i] * 4.0 - k);
    }
    return s;
}
