// The same array as both restrict arguments, which is lawful while nothing is written.
// alias: w = x
double dot_with_itself(const double *restrict x, const double *restrict w, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * w[n - 1 - i];
    return s;
}
