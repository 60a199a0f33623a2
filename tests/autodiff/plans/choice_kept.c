// dco 1
// The condition depends on a value that is gone: one byte for each iteration.
double f(const double *x, int n) {
    double s = 1;
    for (int i = 0; i < n; i++) {
        switch ((int)s & 3) {
        case 0: s = s * x[i]; break;
        case 1: s = s + x[i] * x[0]; break;
        default: s = s - x[i] * s * s;
        }
    }
    return s;
}
