// dco 2
double f(const double *x, int n)
{
    double sum = 0, last = x[0], before = x[1];
    for (int i = 2; i < n; i++) {
        sum += last * before * x[i];
        last = before;
        before = x[i];
    }
    return sum;
}
