// A workspace in static pointers: made on first use, used by several functions, released at the end.
#include <stdlib.h>
static struct { double *work; int room; } state;
static __attribute__((noinline)) void reserve(int n) {
    if (state.room < n) {
        free(state.work);
        state.work = malloc(n * sizeof(double));
        state.room = n;
    }
}
static __attribute__((noinline)) void fill(const double *x, int n) {
    for (int i = 0; i < n; i++) state.work[i] = x[i] * x[n - 1 - i];
}
static __attribute__((noinline)) double sum(int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += state.work[i] * state.work[0];
    return s;
}
double global_workspace(double *x, int n) {
    state.work = 0;
    state.room = 0;
    reserve(n);
    fill(x, n);
    double s = sum(n);
    free(state.work);
    state.work = 0;
    state.room = 0;
    return s;
}
