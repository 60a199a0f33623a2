// ooddc 1
// Which way was taken follows from the condition, which is computed again.
void f(double x, double y, double *restrict a, double *restrict b) {
    if (x > y) a[0] = x * y;
    else b[1] = x + y;
}
