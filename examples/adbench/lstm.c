/* ADBench LSTM: loss of a small character model that predicts each next input of a sequence.
 *
 * b is the hidden size and the number of bits of a character, l the number of layers, c the length of the
 * sequence. A layer's gates act element by element; its 4b weights and 4b biases stand in the order
 * forget, in, out, change.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* One layer, one step: updates hidden[b] and cell[b] from input[b]. */
static void layer(int b, const double *restrict weight, const double *restrict bias,
                  const double *restrict input, double *restrict hidden, double *restrict cell)
{
    for (int i = 0; i < b; i++) {
        const double forget = sigmoid(input[i] * weight[i] + bias[i]);
        const double ingate = sigmoid(hidden[i] * weight[b + i] + bias[b + i]);
        const double outgate = sigmoid(input[i] * weight[2 * b + i] + bias[2 * b + i]);
        const double change = tanh(hidden[i] * weight[3 * b + i] + bias[3 * b + i]);
        cell[i] = cell[i] * forget + ingate * change;
        hidden[i] = outgate * tanh(cell[i]);
    }
}

/* Steps all layers (state[l][2][b]: hidden, cell) by one input; writes the prediction of the next, prediction[b]. */
static void step(int l, int b, const double *restrict main_params, const double *restrict extra_params,
                 double *restrict state, const double *restrict input, double *restrict scaled,
                 double *restrict prediction)
{
    for (int i = 0; i < b; i++)
        scaled[i] = input[i] * extra_params[i];
    for (int j = 0; j < l; j++) {
        double *hidden = state + 2 * b * j;
        const double *from = j == 0 ? scaled : hidden - 2 * b;
        layer(b, main_params + 8 * b * j, main_params + 8 * b * j + 4 * b, from, hidden, hidden + b);
    }
    const double *top = state + 2 * b * (l - 1);
    for (int i = 0; i < b; i++)
        prediction[i] = top[i] * extra_params[b + i] + extra_params[2 * b + i];
}

static double log_denominator(int b, const double *restrict prediction)
{
    double sum = 2.0;
    for (int i = 0; i < b; i++)
        sum += exp(prediction[i]);
    return log(sum);
}

/* main_params[l][2][4b], extra_params[3][b] (in weight, out weight, out bias), state[l][2][b] (initial, left
 * unchanged), sequence[c][b]; writes loss[0] (NaN if memory is short). */
void lstm_objective(int l, int c, int b, const double *restrict main_params, const double *restrict extra_params,
                    const double *restrict state, const double *restrict sequence, double *restrict loss)
{
    double *work = malloc(sizeof(double) * 2 * l * b);
    double *scaled = malloc(sizeof(double) * b);
    double *prediction = malloc(sizeof(double) * b);
    if (!work || !scaled || !prediction) {
        *loss = NAN;
    } else {
        double total = 0.0;
        memcpy(work, state, sizeof(double) * 2 * l * b);
        for (int t = 0; t + 1 < c; t++) {
            step(l, b, main_params, extra_params, work, sequence + t * b, scaled, prediction);
            const double *next = sequence + (t + 1) * b;
            const double lse = log_denominator(b, prediction);
            for (int i = 0; i < b; i++)
                total += next[i] * (prediction[i] - lse);
        }
        *loss = -total / (b * (c - 1));
    }
    free(prediction);
    free(scaled);
    free(work);
}
