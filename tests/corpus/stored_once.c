// A result that the program stores where nothing is written afterwards: the reverse sweep reads it there.
// x: 6 0.2 1
// n: 6
// y: 6
// m: 6
#include <math.h>
void stored_once(const double *restrict x, int n, double *restrict y, int m) {
    for (int i = 0; i < n; i++) y[i] = tanh(x[i] * x[(i + 1) % n]);
}
