// An atomic integer beside active arithmetic.
#include <stdatomic.h>
double atomic_counter(double *x, int n) {
    atomic_int k = 0;
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[atomic_fetch_add(&k, 1) % n];
    return s;
}
