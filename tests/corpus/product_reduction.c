// A product: each factor needs the others.
double product_reduction(const double *x, int n) {
    double p = 1;
    for (int i = 0; i < n; i++) p *= x[i];
    return p;
}
