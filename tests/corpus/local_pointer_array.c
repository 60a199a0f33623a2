// A local array of pointers into the arguments.
double local_pointer_array(double *x, int n, double *y, int m) {
    double *p[3] = {x, y, x + 2};
    double s = 0;
    for (int i = 0; i < 9; i++) {
        double *q = p[(i * 2) % 3];
        s += q[i % 3] * (s + 0.5);
        *q += 0.1 * s;
    }
    return s;
}
