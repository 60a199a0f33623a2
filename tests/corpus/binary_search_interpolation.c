// Linear interpolation in a table found by binary search.
double binary_search_interpolation(double *x, int n) {
    static const double knot[6] = {0.0, 0.25, 0.5, 0.8, 1.1, 1.5};
    double s = 0;
    for (int q = 0; q < n; q++) {
        int lo = 0, hi = 5;
        while (hi - lo > 1) {
            int mid = (lo + hi) / 2;
            if (x[q] < knot[mid]) hi = mid;
            else lo = mid;
        }
        double t = (x[q] - knot[lo]) / (knot[hi] - knot[lo]);
        s += (1 - t) * x[lo] + t * x[hi] * s;
    }
    return s;
}
