// Rows of one array, each made of the one before: `t + 1` behind a guard, which LLVM computes on the other way, too.
// x: 5 0.2 0.9
// n: 5
// history: 20
// steps: 3
double rows_of_history(const double *x, double *history, int n, int steps) {
    double s = 0;
    for (int i = 0; i < n; i++) history[i] = x[i];
    for (int t = 0; t < steps; t++)
        for (int i = 0; i < n; i++)
            history[(t + 1) * n + i] = history[t * n + i] + 0.1 * x[i] * history[t * n + i] * (1 - history[t * n + i]);
    for (int t = 0; t <= steps; t++)
        for (int i = 0; i + 1 < n; i++) s += history[t * n + i] * history[t * n + i + 1];
    return s;
}
