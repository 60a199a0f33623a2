// Sorting with a while loop whose condition reads memory that it moves.
void insertion_sort(double *x, int n) {
    for (int i = 1; i < n; i++) {
        double v = x[i];
        int j = i;
        while (j > 0 && x[j - 1] > v) {
            x[j] = x[j - 1];
            j--;
        }
        x[j] = v;
    }
    for (int i = 1; i < n; i++) x[i] *= x[i - 1];
}
