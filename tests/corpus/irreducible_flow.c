// A loop with two entries.
double irreducible_flow(double *x, int n) {
    double s = x[0];
    int i = 0;
    if (n > 3) goto middle;
top:
    s = s * x[i % n];
middle:
    s += x[(i + 1) % n];
    i++;
    if (i < 5) goto top;
    return s;
}
