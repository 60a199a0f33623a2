/* A recurrent layer with one gate: h <- h + z (tanh(c) - h), where c and z come from the input and the state. */
#include <math.h>

static void product(int width, const float *w, const float *h, float *out)
{
    for (int i = 0; i < width; i++)
        for (int j = 0; j < width; j++)
            out[j] += w[i * width + j] * h[i];
}

/* x: steps by (2 by width), w: 2 by (width by width), h: steps by width; the first state is 0 */
void recurrent(int steps, int width, const float *w, const float *x, float *h)
{
    float c[256], z[256];
    for (int t = 0; t < steps; t++) {
        const float *in = x + 2 * t * width, *before = h + (t - 1) * width;
        for (int j = 0; j < width; j++) {
            c[j] = in[j];
            z[j] = in[width + j];
        }
        if (t) {
            product(width, w, before, c);
            product(width, w + width * width, before, z);
        }
        for (int j = 0; j < width; j++) {
            float old = t ? before[j] : 0.0f;
            h[t * width + j] = old + (tanhf(c[j]) - old) / (1.0f + expf(-z[j]));
        }
    }
}
