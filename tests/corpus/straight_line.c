// Arithmetic without control flow, every value used more than once.
void straight_line(double *x, int n, double *y, int m) {
    double a = x[0] * x[1] + x[2], b = a / x[3] - a * a, c = -b + a * x[4];
    y[0] += a * b * c;
    y[1] = c / (1.0 + a * a);
    y[2] *= x[5] - b;
}
