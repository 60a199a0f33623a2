// A function that swaps through pointers, called with pointers that may be equal.
static __attribute__((noinline)) void swap(double *a, double *b) {
    double t = *a;
    *a = *b;
    *b = t;
}
void noinline_swap(double *x, int n) {
    for (int i = 0; i < n; i++) {
        swap(&x[i], &x[(i * i) % n]);
        x[i] *= x[0];
    }
}
