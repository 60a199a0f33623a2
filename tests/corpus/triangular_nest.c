// The inner bound is the outer counter.
#include <math.h>
double triangular_nest(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) s += exp(-(x[i] - x[j]) * (x[i] - x[j])) * (1 + s * 0.1);
    return s;
}
