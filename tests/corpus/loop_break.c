// A break that depends on active data.
double loop_break(double *x, int n) {
    double s = 0;
    for (int i = 0; i < 1000000; i++) {
        s += x[i % n] * x[(i * 3 + 1) % n];
        if (s > 6.0) break;
    }
    return s * s;
}
