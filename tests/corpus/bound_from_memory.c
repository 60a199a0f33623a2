// The bound lies in memory that the loop itself changes.
double bound_from_memory(double *x, int n) {
    int limit[1] = {3};
    double s = 0;
    for (int i = 0; i < limit[0] && i < n; i++) {
        if (i == 1) limit[0] = 5;
        s += x[i] * (s + 1.5);
    }
    return s;
}
