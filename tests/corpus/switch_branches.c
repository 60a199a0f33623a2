// A switch on an integer, with fall-through and default.
// k: 2
#include <math.h>
double switch_branches(double *x, int n, int k) {
    double s = x[0];
    switch (k) {
    case 0: s = sin(s); break;
    case 1: s = cos(s); break;
    case 2: s *= x[1]; /* fall through */
    case 3: s += x[2] * s; break;
    case 7: return x[3];
    default: s = -s;
    }
    return s * s;
}
