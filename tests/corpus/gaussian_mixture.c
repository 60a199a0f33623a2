// A small mixture likelihood.
#include <math.h>
double gaussian_mixture(const double *x, int n, const double *y, int m) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        double top = -1e300, term[4];
        for (int k = 0; k < m; k++) {
            double d = (x[i] - y[k]) * exp(y[(k + 1) % m]);
            term[k] = y[k] - 0.5 * d * d;
            if (term[k] > top) top = term[k];
        }
        double s = 0;
        for (int k = 0; k < m; k++) s += exp(term[k] - top);
        total += top + log(s);
    }
    return total;
}
