// Indices in memory that change between their use and the reverse sweep, also inside a function.
static __attribute__((noinline)) double pick(int *at, const double *x, int i) {
    int k = at[i];
    at[i] = (k + 2) % 6;
    return x[k] * x[at[i]];
}
double index_array_overwritten(double *x, int n) {
    int at[3] = {0, 1, 2};
    double s = 0;
    for (int i = 0; i < 12; i++) s += pick(at, x, i % 3) * (s + 1) * 0.2;
    return s;
}
