// assert, which calls a function that does not return.
#include <assert.h>
double assertion(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        assert(x[i] > 0);
        s += x[i] * x[i];
        assert(s < 1e6 && "too large");
    }
    return s * x[0];
}
