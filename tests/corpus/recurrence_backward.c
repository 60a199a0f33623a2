// A recurrence that runs from the end.
void recurrence_backward(double *x, int n) {
    for (int i = n - 2; i >= 0; i--) x[i] = x[i] * x[i + 1] + 0.1 * x[i];
}
