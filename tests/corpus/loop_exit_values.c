// Values of a loop that are used after it: the last one, the one before, the counter.
double loop_exit_values(double *x, int n) {
    double last = 0, now = x[0];
    int i;
    for (i = 1; i < n; i++) {
        last = now;
        now = now * x[i] + 0.3;
        if (now > 1.4 && i > 2) break;
    }
    return now * last * i + x[i % n];
}
