// Pseudo-random numbers from an integer generator.
#include <math.h>
#include <stdint.h>
double monte_carlo(double *x, int n) {
    uint64_t state = 42;
    double s = 0;
    for (int i = 0; i < 50; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        double u = (double)(state >> 11) / 9007199254740992.0;
        s += exp(x[0] * u) * cos(x[1] * u) * (u > 0.5 ? x[2] : 1.0);
    }
    return s / 50;
}
