// Restrict promises between the arguments.
void restrict_pointers(double *restrict x, int n, double *restrict y, int m) {
    for (int i = 0; i < n; i++) {
        y[0] += x[i] * y[1];
        x[i] = y[0] * 0.3;
        y[1] *= 1.05;
    }
}
