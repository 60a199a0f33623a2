// The nearest of several centres, by a test and by fmin: the derivative is that of the one which was taken.
// x: 10
// n: 5
// c: 6
// k: 3
#include <math.h>
double nearest_centres(const double *x, int n, const double *c, int k) {
    double cost = 0;
    for (int i = 0; i < n; i++) {
        double least = 1e30, other = 1e30;
        for (int j = 0; j < k; j++) {
            double a = x[2 * i] - c[2 * j], b = x[2 * i + 1] - c[2 * j + 1], s = a * a + b * b;
            if (s < least) least = s;
            other = fmin(other, exp(a) + b * b);
        }
        for (int j = 0; j < k; j++) {
            double s = sin(x[2 * i] * c[j]) + x[2 * i + 1];
            if (s > other) other = s;
        }
        cost += least * other;
    }
    return cost;
}
