// Each element becomes a function of itself and the next, which is still as it was.
// y: 6
#include <math.h>
void fused_reads_the_next(double *x, int n) {
    for (int i = 0; i + 1 < n; i++) {
        double a = exp(x[i]);
        x[i] = (a > 2 ? log(a) * a : sin(a)) * x[i + 1];
    }
}
