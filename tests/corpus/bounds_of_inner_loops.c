// Inner bounds from an integer array, from the outer counter, and from arithmetic on both.
double bounds_of_inner_loops(double *x, int n) {
    static const int size[4] = {2, 0, 3, 1};
    double s = 0.3;
    for (int i = 0; i < 4; i++)
        for (int j = i; j < i + size[i]; j++) {
            s += x[j % n] * s * 0.3;
            for (int k = j; k >= 0; k -= 2) s = s * 0.95 + x[k % n] * x[j % n] * 0.1;
        }
    return s;
}
