/* ADBench's character model, two layers of 14: the gradient by main and extra parameters. Size: characters. */
#include "program.h"
#include "../../examples/adbench/lstm.c"

enum { L = 2, B = 14, MAIN = 8 * L * B, PARAMETERS = MAIN + 3 * B };

static double p[PARAMETERS], d_p[PARAMETERS], state[2 * L * B], *sequence;
static int characters;

void setup(int size)
{
    characters = size;
    sequence = realloc(sequence, size * B * sizeof *sequence);
    for (int i = 0; i < PARAMETERS; i++) p[i] = 2 * noise(i) - 1;
    for (int i = 0; i < 2 * L * B; i++) state[i] = noise(3 * i) - 0.5;
    for (int i = 0; i < size * B; i++) sequence[i] = noise(7 * i) < 0.5;
}

double primal(void)
{
    double out;
    lstm_objective(L, characters, B, p, p + MAIN, state, sequence, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_p, 0, sizeof d_p);
    __enzyme_autodiff((void *)lstm_objective, enzyme_const, L, enzyme_const, characters, enzyme_const, B, enzyme_dup, p,
                      d_p, enzyme_dup, p + MAIN, d_p + MAIN, enzyme_const, state, enzyme_const, sequence, enzyme_dup,
                      &out, &seed);
}

double *derivative(int *count) { return *count = PARAMETERS, d_p; }
