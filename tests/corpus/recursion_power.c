// Recursion whose depth depends on the argument.
static double power(double a, int n) {
    if (n == 0) return 1;
    double h = power(a, n / 2);
    return n % 2 ? h * h * a : h * h;
}
double recursion_power(double *x, int n) { return power(x[0], 11) + power(x[1], 4) * x[2]; }
