// oo 1
// The count is known when the loop has ended: chunks, and a counter.
double f(double x) {
    double s = x;
    while (s < 100) s = s * s + x;
    return s;
}
