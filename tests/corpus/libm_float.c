// The float family of libm.
// x: 6 0.3 1.2
#include <math.h>
void libm_float(float *x, int n, float *y, int m) {
    y[0] = sinf(x[0]) * expf(x[1]) + logf(x[2] + 1.0f);
    y[1] = sqrtf(x[3]) + powf(x[4], x[5]) + fabsf(x[0] - 2.0f);
    y[2] = tanhf(x[1]) / coshf(x[2]) + hypotf(x[3], x[4]);
    y[3] = atan2f(x[5], x[0]) + cbrtf(x[1]) + fmaxf(x[2], x[3] + 2.0f);
}
