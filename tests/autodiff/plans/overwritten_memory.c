// dcc 1
// What is overwritten is kept.
void f(double *x, int n) {
    for (int i = 0; i < n; i++) x[i] = x[i] * x[i];
}
