// A repeated product with two buffers that change roles.
// x: 9
// n: 3
#include <string.h>
void matrix_power(double *x, int n) {
    double a[9], b[9], *p = a, *q = b;
    memcpy(a, x, sizeof a);
    for (int r = 0; r < 3; r++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double s = 0;
                for (int k = 0; k < 3; k++) s += p[3 * i + k] * x[3 * k + j];
                q[3 * i + j] = 0.5 * s;
            }
        double *t = p;
        p = q;
        q = t;
    }
    memcpy(x, p, sizeof a);
}
