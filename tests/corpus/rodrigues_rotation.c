// A rotation by an axis-angle vector, with the small-angle branch.
// x: 6 -1 1
#include <math.h>
void rodrigues_rotation(const double *x, int n, double *y, int m) {
    double t2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    const double *p = x + 3;
    if (t2 > 1e-12) {
        double t = sqrt(t2), c = cos(t), s = sin(t), w[3], cr[3], d = 0;
        for (int i = 0; i < 3; i++) w[i] = x[i] / t;
        for (int i = 0; i < 3; i++) {
            cr[i] = w[(i + 1) % 3] * p[(i + 2) % 3] - w[(i + 2) % 3] * p[(i + 1) % 3];
            d += w[i] * p[i];
        }
        for (int i = 0; i < 3; i++) y[i] = p[i] * c + cr[i] * s + w[i] * d * (1 - c);
    } else {
        for (int i = 0; i < 3; i++) y[i] = p[i] + x[(i + 1) % 3] * p[(i + 2) % 3] - x[(i + 2) % 3] * p[(i + 1) % 3];
    }
}
