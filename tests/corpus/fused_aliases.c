// The output is the input, two elements on: nothing says so, and nothing says otherwise.
// y: 6
// x: 8
// alias: y = x + 2
// n: 6
#include <math.h>
void fused_aliases(const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) {
        double a = exp(0.3 * x[i]);
        y[i] = (a > 1.2 ? log(a) * a : sin(a)) * a;
    }
}
