// ccddc 2
// Each row is run, then reversed: its powers are kept for that long, not made again in a chain of their own.
void f(long n, long m, const double *restrict x, double *restrict out)
{
    double sum = 0;
    for (long i = 0; i < n; i++) {
        double t = i * 0.25, r = 1, p = 1;
        for (long j = 0; j < m; j++) { r -= x[j] * p; p *= t; }
        sum += r * r;
    }
    *out = sum;
}
