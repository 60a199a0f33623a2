// A long chaotic-looking recurrence in one scalar, longer than a chunk of the tape.
double logistic_map(double *x, int n) {
    double v = 0.5 * x[0], r = 2.0 + 0.3 * x[1];
    int k = 0;
    while (k < 200) {
        v = r * v * (1 - v);
        k++;
    }
    return v;
}
