/* A two-layer network with matrix products: the gradient by all weights. Size: hidden units; 32 inputs, 10 outputs, 64 samples. */
#include "program.h"

enum { IN = 32, OUT = 10, SAMPLES = 64 };

OBJECTIVE void objective(int hidden, const double *restrict w, const double *restrict x, const double *restrict target,
                         double *restrict h, double *restrict out)
{
    const double *w1 = w, *b1 = w1 + hidden * IN, *w2 = b1 + hidden, *b2 = w2 + OUT * hidden;
    double loss = 0;
    for (int s = 0; s < SAMPLES; s++) {
        for (int i = 0; i < hidden; i++) {
            double sum = b1[i];
            for (int j = 0; j < IN; j++) sum += w1[i * IN + j] * x[s * IN + j];
            h[i] = tanh(sum);
        }
        for (int i = 0; i < OUT; i++) {
            double sum = b2[i];
            for (int j = 0; j < hidden; j++) sum += w2[i * hidden + j] * h[j];
            double e = sum - target[s * OUT + i];
            loss += e * e;
        }
    }
    *out = loss / SAMPLES;
}

static double *w, *d_w, *h, *d_h, x[SAMPLES * IN], target[SAMPLES * OUT];
static int hidden, weights;

void setup(int size)
{
    hidden = size, weights = hidden * (IN + 1) + OUT * (hidden + 1);
    w = realloc(w, weights * sizeof *w), d_w = fresh(d_w, weights * sizeof *w);
    h = realloc(h, hidden * sizeof *w), d_h = fresh(d_h, hidden * sizeof *w);
    for (int i = 0; i < weights; i++) w[i] = 0.5 * (noise(i) - 0.5);
    for (int i = 0; i < SAMPLES * IN; i++) x[i] = noise(7 * i) - 0.5;
    for (int i = 0; i < SAMPLES * OUT; i++) target[i] = noise(3 * i);
}

double primal(void)
{
    double out;
    objective(hidden, w, x, target, h, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_w, 0, weights * sizeof *w);
    memset(d_h, 0, hidden * sizeof *w);
    __enzyme_autodiff((void *)objective, enzyme_const, hidden, enzyme_dup, w, d_w, enzyme_const, x, enzyme_const, target,
                      enzyme_dup, h, d_h, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = weights, d_w; }
