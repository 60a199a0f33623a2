// Recursion over halves of an array, writing on the way.
static double tree(double *x, int n) {
    if (n == 1) return x[0] * x[0];
    double l = tree(x, n / 2), r = tree(x + n / 2, n - n / 2);
    x[0] = l * r;
    return l + r * 0.5;
}
double recursion_tree_sum(double *x, int n) { return tree(x, n) * x[0]; }
