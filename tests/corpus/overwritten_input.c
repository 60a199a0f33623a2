// An input is used, overwritten by a constant, and used again.
void overwritten_input(double *x, int n, double *y, int m) {
    y[0] = x[0] * x[1];
    x[0] = 2.0;
    y[1] = x[0] * x[1];
    x[1] = y[0];
    y[2] = x[1] * x[0];
    y[0] = 0.0;
}
