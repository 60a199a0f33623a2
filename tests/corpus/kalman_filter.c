// A scalar filter: gain and variance carried along.
void kalman_filter(double *x, int n, double *y, int m) {
    double state = y[0], p = 1;
    for (int i = 0; i < n; i++) {
        p += y[1];
        double gain = p / (p + y[2]);
        state += gain * (x[i] - state);
        p *= 1 - gain;
        x[i] = state;
    }
    y[3] = p;
}
