// Values that move between variables from trip to trip.
double loop_rotating_values(double *x, int n) {
    double a = x[0], b = x[1], c = x[2];
    for (int i = 0; i < 7; i++) {
        double t = a;
        a = b;
        b = c;
        c = t * b + x[i % n];
    }
    return a + 2 * b * c;
}
