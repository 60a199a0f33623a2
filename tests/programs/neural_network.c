/* Two layers with tanh and a softmax loss. */
#include "selfcheck.h"
static double f(const double *w, int n)
{
    double input[3] = {0.5, -0.2, 0.8}, hidden[4], out[3], most = -1e9, norm = 0;
    for (int j = 0; j < 4; j++) {
        double s = 0;
        for (int i = 0; i < 3; i++)
            s += w[(3 * j + i) % n] * input[i];
        hidden[j] = tanh(s);
    }
    for (int k = 0; k < 3; k++) {
        out[k] = 0;
        for (int j = 0; j < 4; j++)
            out[k] += w[(12 + 4 * k + j) % n] * hidden[j];
        most = fmax(most, out[k]);
    }
    for (int k = 0; k < 3; k++)
        norm += exp(out[k] - most);
    return log(norm) + most - out[1];
}
int main(void) { CHECK_GRADIENT(f, 24); return failures(); }
