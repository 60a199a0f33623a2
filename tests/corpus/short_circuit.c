// && and || with tests on floats that are only evaluated in part.
double short_circuit(double *x, int n) {
    double s = 0;
    for (int i = 0; i + 1 < n; i++) {
        if (x[i] > 0.2 && (x[i + 1] < 0.7 || i > 2)) s += x[i] * x[i + 1];
        if (!(x[i] < 0.9) || s > 1.0) s *= 1.1 * x[i];
    }
    return s;
}
