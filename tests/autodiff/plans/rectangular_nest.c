// dcco 1
// One block for both loops, reserved where the outer one is entered.
double f(const double *x, int n, int m) {
    double s = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) s = s * s * x[j];
    return s;
}
