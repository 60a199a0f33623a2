// What chooses a neighbour is in a function of its own; both sides of a difference, and an odd start.
// x: 9
// n: 9
// y: 9
static double peeled_at(const double *x, int i, int n) { return x[i < n ? i : 2]; }
double peeled_late(double *restrict x, int n, double *restrict y) {
    double sum = 0;
    for (int i = 2; i < n; i++) {
        y[i] = x[i] * peeled_at(x, i + 1, n) - 0.5 * x[i == 2 ? n - 1 : i - 1] * x[i - 2];
        sum += y[i] * y[i];
    }
    return sum;
}
