// Pointers that walk over an array.
double pointer_walk(double *x, int n) {
    double s = 0;
    for (double *p = x, *end = x + n; p != end; ++p) s = s * *p + *p;
    for (double *p = x + n; p-- > x;) *p *= s;
    return s;
}
