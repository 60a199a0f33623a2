// memmove over itself, both ways.
#include <string.h>
void memmove_overlap(double *x, int n) {
    x[0] *= x[1];
    memmove(x + 1, x, (n - 1) * sizeof *x);
    x[2] *= x[3];
    memmove(x, x + 2, (n - 2) * sizeof *x);
    x[1] *= x[0];
}
