// Calls on some ways only, and one that is never taken.
static __attribute__((noinline)) void twice(double *x) { *x *= 2 * *x; }
static __attribute__((noinline)) void half(double *x) { *x *= 0.5; }
void noinline_in_branch(double *x, int n) {
    for (int i = 0; i < n; i++) {
        if (i % 2) twice(&x[i]);
        else if (x[i] > 50) half(&x[i]);
        x[i] += x[(i + 1) % n];
    }
}
