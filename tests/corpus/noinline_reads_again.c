// What a callee reads is there when the reverse sweep comes back, unless a caller writes it after the call.
// x: 5
// n: 5
// y: 5
static __attribute__((noinline)) double reads_again(const double *restrict x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i] * x[i];
    return sum;
}
static __attribute__((noinline)) double reads_twice(double *restrict x, const double *restrict y, int n) {
    double a = reads_again(x, n) * reads_again(y, n);
    x[1] = a * y[2];
    return a + reads_again(x, n);
}
double noinline_reads_again(double *restrict x, int n, double *restrict y) {
    double local[5], sum = 0;
    for (int i = 0; i < n; i++) local[i] = x[i] * y[n - 1 - i];
    sum += reads_again(local, n) + reads_twice(x, y, n);
    for (int i = 0; i < n; i++) local[i] *= y[i];
    return sum * reads_again(local, n) + reads_again(y, n);
}
