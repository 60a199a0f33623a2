// The adjoint of each sum depends on the other; that of p needs their product.
// x: 18
// p: 1
// n: 3
#include <math.h>
double fused_product_of_sums(const double *restrict x, const double *restrict p, int n) {
    double total = 0, other = 0;
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < 6; j++) inner *= exp(x[6 * i + j]);
        total += log(1 + inner);
    }
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < 6; j++) inner *= exp(-x[6 * i + j]);
        other += log(1 + inner);
    }
    return total * other * p[0];
}
