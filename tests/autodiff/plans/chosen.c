// dco 2
double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 1; i + 1 < n; i++) {
        double a = x[i] - x[i - 1], b = x[i + 1] - x[i];
        double m = a * b <= 0 ? 0 : __builtin_fabs(a) < __builtin_fabs(b) ? a : b;
        sum += (x[i] + 0.5 * m) * (x[i] + 0.5 * m);
    }
    return sum;
}
