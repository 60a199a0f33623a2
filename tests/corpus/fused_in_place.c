// Each element becomes a function of itself.
// y: 6
#include <math.h>
void fused_in_place(double *x, int n) {
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]);
        x[i] = (a > 2 ? log(a) * a : sin(a)) * x[i];
    }
}
