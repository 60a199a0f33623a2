/* A gated recurrent unit of 24 hidden values over a sequence: the gradient by its matrices and the inputs. Size: steps. */
#include "program.h"

enum { HIDDEN = 24, ROW = HIDDEN + 2, GATE = HIDDEN * ROW };

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

/* What row `i` of a gate's matrix makes of the state, the input and one. */
static double sum_of(const double *gate, int i, const double *state, double input)
{
    const double *row = gate + i * ROW;
    double sum = row[HIDDEN] * input + row[HIDDEN + 1];
    for (int j = 0; j < HIDDEN; j++) sum += row[j] * state[j];
    return sum;
}

OBJECTIVE void objective(int steps, const double *restrict w, const double *restrict in, double *restrict out)
{
    double h[HIDDEN] = {0}, update[HIDDEN], reset[HIDDEN], loss = 0;
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < HIDDEN; i++) update[i] = sigmoid(sum_of(w, i, h, in[t]));
        for (int i = 0; i < HIDDEN; i++) reset[i] = h[i] * sigmoid(sum_of(w + GATE, i, h, in[t]));
        for (int i = 0; i < HIDDEN; i++)
            h[i] += update[i] * (tanh(sum_of(w + 2 * GATE, i, reset, in[t])) - h[i]);
        loss += (h[0] - in[t]) * (h[0] - in[t]);
    }
    *out = loss / steps;
}

static double *x, *d_x;
static int steps;

void setup(int size)
{
    steps = size;
    x = realloc(x, (3 * GATE + steps) * sizeof *x), d_x = fresh(d_x, (3 * GATE + steps) * sizeof *x);
    for (int i = 0; i < 3 * GATE + steps; i++) x[i] = noise(i) - 0.5;
}

double primal(void)
{
    double out;
    objective(steps, x, x + 3 * GATE, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_x, 0, (3 * GATE + steps) * sizeof *x);
    __enzyme_autodiff((void *)objective, enzyme_const, steps, enzyme_dup, x, d_x, enzyme_dup, x + 3 * GATE,
                      d_x + 3 * GATE, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 3 * GATE + steps, d_x; }
