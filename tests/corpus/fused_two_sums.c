// Two sums, one of which takes from the other; and the last term of a third.
// y: 6
// x: 18
// n: 3
#include <math.h>
double fused_two_sums(const double *restrict x, int n, double *restrict y) {
    double a = 0, b = x[1], last = 0;
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < 6; j++) inner *= exp(0.3 * x[6 * i + j]);
        last = inner * x[i];
        a += inner;
        b += sqrt(inner) + (i == 1 ? a : 0);
    }
    *y = last;
    return a + 2 * b;
}
