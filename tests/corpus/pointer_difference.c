// Pointers subtracted to indices.
double pointer_difference(double *x, int n) {
    double *best = x;
    for (double *p = x; p < x + n; p++)
        if (*p > *best) best = p;
    long at = best - x;
    return x[(at + 1) % n] * *best + x[at] * (double)at;
}
