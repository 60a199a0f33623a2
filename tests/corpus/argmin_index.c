// The index of the smallest element is data, what it selects is active.
double argmin_index(const double *x, int n) {
    int k = 0;
    for (int i = 1; i < n; i++)
        if (x[i] < x[k]) k = i;
    return x[k] * x[(k + 1) % n];
}
