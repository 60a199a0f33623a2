// Memory of active floats compared as bytes.
#include <string.h>
double memcmp_decision(double *x, int n) {
    double a[2] = {x[0], x[1]};
    if (memcmp(a, x, sizeof a) == 0) return a[0] * a[1] * x[2];
    return x[3];
}
