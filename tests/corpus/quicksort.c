// Sorting by recursion.
// n: 8
static void sort(double *x, int lo, int hi) {
    if (lo >= hi) return;
    double pivot = x[(lo + hi) / 2];
    int i = lo, j = hi;
    while (i <= j) {
        while (x[i] < pivot) i++;
        while (x[j] > pivot) j--;
        if (i <= j) {
            double t = x[i];
            x[i++] = x[j];
            x[j--] = t;
        }
    }
    sort(x, lo, j);
    sort(x, i, hi);
}
double quicksort(double *x, int n) {
    sort(x, 0, n - 1);
    double s = 0;
    for (int i = 0; i < n; i++) s = s * 0.7 + x[i] * x[i] * i;
    return s;
}
