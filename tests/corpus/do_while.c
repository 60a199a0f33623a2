// A loop that tests at its end.
double do_while(double *x, int n) {
    double s = 0;
    int i = 0;
    do {
        s = s * x[i] + x[i] * x[i];
        i++;
    } while (i < n);
    return s;
}
