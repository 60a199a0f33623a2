// Loops that do not run at all.
// m: 0
// y: 3
double zero_trips(double *x, int n, double *y, int m) {
    double s = x[0];
    for (int i = 0; i < m; i++) s *= y[i];
    for (int i = n; i < m; i++)
        for (int j = 0; j < i; j++) y[j] = s;
    while (m > 0) { s += x[1]; m--; }
    return s * x[2];
}
