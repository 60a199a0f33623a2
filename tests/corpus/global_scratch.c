// A mutable global as scratch memory: written before it is read.
static double scratch[8];
double global_scratch(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) scratch[i] = x[i] * x[i];
    for (int i = 1; i < n; i++) scratch[i] += scratch[i - 1] * x[0];
    for (int i = 0; i < n; i++) s += scratch[i] * x[i];
    for (int i = 0; i < n; i++) scratch[i] = 0;
    return s;
}
