// An array that is overwritten with functions of itself, twice.
#include <math.h>
void in_place_update(double *x, int n) {
    for (int i = 0; i < n; i++) x[i] = sin(x[i]) * x[i];
    for (int i = 0; i < n; i++) x[i] = x[i] * x[(i + 1) % n];
}
