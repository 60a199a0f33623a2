// An argument that nothing depends on, and a result that is constant.
double unused_input(double *x, int n, double *y, int m) {
    x[0] = 1.0;
    return 4.0;
}
