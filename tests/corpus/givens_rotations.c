// Givens rotations with a branch on which element is larger.
// x: 9 -1 1
// n: 3
#include <math.h>
void givens_rotations(double *x, int n) {
    for (int j = 0; j < n; j++)
        for (int i = n - 1; i > j; i--) {
            double a = x[(i - 1) * n + j], b = x[i * n + j], c, s;
            if (fabs(a) > fabs(b)) {
                double t = b / a;
                c = 1 / sqrt(1 + t * t);
                s = c * t;
            } else {
                double t = a / b;
                s = 1 / sqrt(1 + t * t);
                c = s * t;
            }
            for (int k = 0; k < n; k++) {
                double u = x[(i - 1) * n + k], v = x[i * n + k];
                x[(i - 1) * n + k] = c * u + s * v;
                x[i * n + k] = c * v - s * u;
            }
        }
}
