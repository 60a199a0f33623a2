// A return out of two loops.
double nested_early_return(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s += x[i] * x[j];
            if (s > 4.0) return s * x[j];
        }
    return -s;
}
