// dco 1
// The inner count changes from one outer iteration to the next: a block for each.
double f(const double *x, int n) {
    double s = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) s = s * s * x[j];
    return s;
}
