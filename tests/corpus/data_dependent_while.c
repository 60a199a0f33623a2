// The number of trips depends on active data.
double data_dependent_while(double *x, int n) {
    double s = x[0] + 1.0;
    while (s < 40.0) s = s * (1.0 + x[1]) + x[2];
    return s;
}
