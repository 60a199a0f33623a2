// Sorting by swaps of neighbours.
void bubble_sort(double *x, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j + 1 < n - i; j++)
            if (x[j] > x[j + 1]) {
                double t = x[j];
                x[j] = x[j + 1];
                x[j + 1] = t;
            }
    for (int i = 0; i < n; i++) x[i] *= i + 1;
}
