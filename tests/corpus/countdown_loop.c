// Counting down, with an unsigned counter.
double countdown_loop(double *x, unsigned n) {
    double s = 1;
    for (unsigned i = n; i-- > 0;) s = s * x[i] + 1;
    return s;
}
