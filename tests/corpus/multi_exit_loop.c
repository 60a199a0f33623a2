// Three ways out of one loop, each to other code.
double multi_exit_loop(double *x, int n) {
    double s = 0;
    int i = 0;
    for (;;) {
        if (i >= 4 * n) goto done;
        s += x[i % n];
        if (s > 3.0) goto big;
        s *= 1.0 + 0.1 * x[(i + 2) % n];
        if (s < -3.0) goto small;
        i++;
    }
big:
    return s * s * x[0];
small:
    return s * x[1];
done:
    return s;
}
