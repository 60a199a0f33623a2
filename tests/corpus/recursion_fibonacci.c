// Two recursive calls, active result.
static double f(double a, double b, int n) { return n < 2 ? (n ? a : b) : f(a, b, n - 1) * 0.5 + f(a, b, n - 2) * a; }
double recursion_fibonacci(double *x, int n) { return f(x[0], x[1], 8); }
