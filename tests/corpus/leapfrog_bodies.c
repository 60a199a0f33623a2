// Three bodies in the plane, leapfrog steps.
// x: 12 -1 1
// n: 3
#include <math.h>
void leapfrog_bodies(double *x, int n) {
    double *position = x, *velocity = x + 2 * n, h = 0.01;
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                if (i == j) continue;
                double dx = position[2 * j] - position[2 * i], dy = position[2 * j + 1] - position[2 * i + 1];
                double r2 = dx * dx + dy * dy + 0.1, f = (j + 1) / (r2 * sqrt(r2));
                velocity[2 * i] += h * f * dx;
                velocity[2 * i + 1] += h * f * dy;
            }
        for (int i = 0; i < 2 * n; i++) position[i] += h * velocity[i];
    }
}
