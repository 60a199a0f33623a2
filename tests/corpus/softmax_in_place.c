// Softmax over its own input.
#include <math.h>
void softmax_in_place(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] = exp(x[i]);
    for (int i = 0; i < n; i++) x[i] /= s;
}
