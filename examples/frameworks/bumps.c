/* A layer of bumps: out_i = exp(-s_i^2 |x - c_i|^2), at a point of the plane. */
#include <math.h>

void bumps(int n, const float *x, const float *centres, const float *sharpness, float *out)
{
    for (int i = 0; i < n; i++) {
        float dx = x[0] - centres[2 * i], dy = x[1] - centres[2 * i + 1];
        out[i] = expf(-sharpness[i] * sharpness[i] * (dx * dx + dy * dy));
    }
}
