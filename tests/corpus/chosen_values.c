// Values that a branch chooses, and what they are made from: cheap on both sides, or a quotient, a load, another choice.
// x: 8 -1.0 1.0
// n: 8
// y: 5
// m: 5
#include <math.h>
void chosen_values(const double *restrict x, int n, double *restrict y, int m) {
    for (int i = 1; i + 1 < n; i++) {
        double a = x[i] - x[i - 1], b = x[i + 1] - x[i];
        double slope = a * b <= 0 ? 0 : fabs(a) < fabs(b) ? a : b;
        y[0] += (x[i] + 0.5 * slope) * (x[i] + 0.5 * slope);
        double q = a;
        if (a > 0.1) q = b / a;
        y[1] += q * q * x[i];
        double far = b;
        if (a * a < 0.5 && i + 3 < n) far = x[i + 3] * a;
        y[2] += far * far * b;
        double twice;
        if (b > 0) {
            double c = a * b + 1;
            twice = c > 0.8 ? c * a : c + b;
            y[3] += c * c;
        } else {
            twice = a - b * b;
        }
        y[4] += twice * twice * twice;
    }
}
