// A program that reports what it does.
#include <stdio.h>
double printing(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += x[i] * x[i];
        if (s > 1e9) fprintf(stderr, "large: %g\n", s);
    }
    return s;
}
