// An accumulator that only some trips change, by integer and by float conditions.
#include <math.h>
double loop_conditional_update(double *x, int n) {
    double s = 0, t = 1;
    for (int i = 0; i < 2 * n; i++) {
        double v = sin(3.0 * x[i % n] + i);
        if (v > 0.05) s += v * t;
        else if (i & 1) t *= 1 + v * v;
        else s -= v;
    }
    return s * t;
}
