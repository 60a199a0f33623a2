// Stable log-sum-exp.
#include <math.h>
double log_sum_exp(const double *x, int n) {
    double top = -INFINITY, s = 0;
    for (int i = 0; i < n; i++) top = fmax(top, x[i]);
    for (int i = 0; i < n; i++) s += exp(x[i] - top);
    return top + log(s);
}
