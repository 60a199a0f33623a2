/* The adjoint of `network` as one writes it: back-propagation, sample by sample. */
#define gradient gradient_by_tool
#include "../programs/network.c"
#undef gradient

PUBLIC void gradient(void)
{
    const double *w1 = w, *b1 = w1 + hidden * IN, *w2 = b1 + hidden, *b2 = w2 + OUT * hidden;
    double *d_w1 = d_w, *d_b1 = d_w1 + hidden * IN, *d_w2 = d_b1 + hidden, *d_b2 = d_w2 + OUT * hidden;
    memset(d_w, 0, weights * sizeof *w);
    for (int s = 0; s < SAMPLES; s++) {
        const double *restrict in = x + s * IN;
        double *restrict d = d_h;
        for (int i = 0; i < hidden; i++) {
            double sum = b1[i];
            for (int j = 0; j < IN; j++) sum += w1[i * IN + j] * in[j];
            h[i] = tanh(sum), d[i] = 0;
        }
        for (int i = 0; i < OUT; i++) {
            double sum = b2[i];
            for (int j = 0; j < hidden; j++) sum += w2[i * hidden + j] * h[j];
            double e = 2.0 / SAMPLES * (sum - target[s * OUT + i]);
            d_b2[i] += e;
            for (int j = 0; j < hidden; j++) d_w2[i * hidden + j] += e * h[j], d[j] += e * w2[i * hidden + j];
        }
        for (int i = 0; i < hidden; i++) {
            double e = d[i] * (1 - h[i] * h[i]);
            d_b1[i] += e;
            for (int j = 0; j < IN; j++) d_w1[i * IN + j] += e * in[j];
        }
    }
}
