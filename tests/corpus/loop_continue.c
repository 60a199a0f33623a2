// continue skips parts of the body.
double loop_continue(double *x, int n) {
    double s = 1;
    for (int i = 0; i < n; i++) {
        if (i % 3 == 1) continue;
        s *= x[i] + 1;
        if (x[i] < 0.8) continue;
        s += x[i] * x[i];
    }
    return s;
}
