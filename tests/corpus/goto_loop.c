// Loops made with goto.
double goto_loop(double *x, int n) {
    double s = 1;
    int i = 0;
again:
    s = s * x[i] + 0.5;
    if (++i < n) goto again;
    i = 0;
more:
    if (i == 3) return s;
    s += x[i] * s;
    i++;
    goto more;
}
