// A float that LLVM knows is written as the integer of its bits: what was there before matters no more.
#include <string.h>

double zero_as_integer(double *x, double *y, int n, double c) {
    double made[7];
    for (int i = 0; i < 7; i++) made[i] = 0.5 * i;
    memmove(y, made, sizeof(double));
    memcpy(y + 2, made + 1, sizeof(double));
    if (n > 3) {
        long bits = 0;
        memcpy(x + 1, &bits, sizeof(double));
    }
    return made[3] + c * x[1] + y[2] * x[0];
}
