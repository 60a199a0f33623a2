// Pseudo-random integers of the C library choose what is computed.
#include <stdlib.h>
double random_library(double *x, int n) {
    double s = 0;
    srand(7);
    for (int i = 0; i < 20; i++) {
        int k = rand() % n;
        s += x[k] * x[(k + i) % n] * 0.1;
    }
    return s;
}
