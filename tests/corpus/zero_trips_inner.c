// Inner loops that run zero, one and two times.
double zero_trips_inner(double *x, int n) {
    double s = 1;
    for (int i = 0; i < n; i++) {
        double p = x[i];
        for (int j = 0; j < i % 3; j++) p = p * p + x[j];
        s *= p + 0.5;
    }
    return s;
}
