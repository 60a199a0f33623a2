// Results through pointers, and an integer beside them.
static __attribute__((noinline)) int split(const double *x, int n, double *sum, double *product) {
    int used = 0;
    *sum = 0;
    *product = 1;
    for (int i = 0; i < n; i++)
        if (x[i] < 1.0) {
            *sum += x[i];
            used++;
        } else *product *= x[i];
    return used;
}
double noinline_pointer_output(double *x, int n) {
    double s, p;
    int used = split(x, n, &s, &p);
    return s * p * used;
}
