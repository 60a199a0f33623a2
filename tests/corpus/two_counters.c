// A loop with two induction variables that meet.
double two_counters(double *x, int n) {
    double s = 0;
    for (int i = 0, j = n - 1; i < j; i++, j--) s += x[i] * x[j] * (s + 1);
    return s;
}
