// The largest element, by comparison.
double maximum_reduction(const double *x, int n) {
    double best = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > best) best = x[i];
    return best * best;
}
