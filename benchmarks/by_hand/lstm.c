/* The adjoint of `lstm` as one writes it: what gates made is kept, s (1 - s) and 1 - t^2 are their derivatives, and the
   adjoint of a prediction (1 - softmax) is known as soon as it is made. */
#define gradient gradient_by_tool
#include "../programs/lstm.c"
#undef gradient

enum { FORGET, INGATE, OUTGATE, CHANGE, CELL, TANH, INPUT, HIDDEN, KEPT };
static double (*kept)[L][KEPT][B], (*d_top)[B];
static int room;

/* A layer's step: keeps what the way back needs. */
static void ahead(const double *restrict weight, const double *restrict input, double *restrict hidden,
                  double *restrict cell, double (*restrict k)[B])
{
    const double *bias = weight + 4 * B;
    for (int i = 0; i < B; i++) {
        double f = sigmoid(input[i] * weight[i] + bias[i]);
        double in = sigmoid(hidden[i] * weight[B + i] + bias[B + i]);
        double out = sigmoid(input[i] * weight[2 * B + i] + bias[2 * B + i]);
        double change = tanh(hidden[i] * weight[3 * B + i] + bias[3 * B + i]);
        k[INPUT][i] = input[i], k[HIDDEN][i] = hidden[i], k[CELL][i] = cell[i];
        k[FORGET][i] = f, k[INGATE][i] = in, k[OUTGATE][i] = out, k[CHANGE][i] = change;
        cell[i] = cell[i] * f + in * change;
        k[TANH][i] = tanh(cell[i]);
        hidden[i] = out * k[TANH][i];
    }
}

/* The same backwards; `d_input` is that of its input. */
static void back(const double *restrict weight, double *restrict d_weight, double (*restrict k)[B],
                 double *restrict d_hidden, double *restrict d_cell, double *restrict d_input)
{
    double *restrict d_bias = d_weight + 4 * B;
    for (int i = 0; i < B; i++) {
        double f = k[FORGET][i], in = k[INGATE][i], out = k[OUTGATE][i], change = k[CHANGE][i], t = k[TANH][i];
        double d = d_cell[i] + d_hidden[i] * out * (1 - t * t), d_out = d_hidden[i] * t * out * (1 - out);
        double d_f = d * k[CELL][i] * f * (1 - f), d_in = d * change * in * (1 - in), d_change = d * in * (1 - change * change);
        d_cell[i] = d * f;
        d_weight[i] += d_f * k[INPUT][i], d_bias[i] += d_f;
        d_weight[B + i] += d_in * k[HIDDEN][i], d_bias[B + i] += d_in;
        d_weight[2 * B + i] += d_out * k[INPUT][i], d_bias[2 * B + i] += d_out;
        d_weight[3 * B + i] += d_change * k[HIDDEN][i], d_bias[3 * B + i] += d_change;
        d_hidden[i] = d_in * weight[B + i] + d_change * weight[3 * B + i];
        d_input[i] = d_f * weight[i] + d_out * weight[2 * B + i];
    }
}

PUBLIC void gradient(void)
{
    double s[2 * L * B], d_s[2 * L * B] = {0}, scaled[B], e[B], d_input[B], *extra = p + MAIN, *d_extra = d_p + MAIN;
    if (room < characters) {
        room = characters;
        kept = realloc(kept, room * sizeof *kept), d_top = realloc(d_top, room * sizeof *d_top);
    }
    memset(d_p, 0, sizeof d_p);
    memcpy(s, state, sizeof s);
    for (int t = 0; t + 1 < characters; t++) {
        const double *next = sequence + (t + 1) * B, *top = s + 2 * B * (L - 1);
        double sum = 2, expected = 0;
        for (int i = 0; i < B; i++) scaled[i] = sequence[t * B + i] * extra[i];
        for (int j = 0; j < L; j++)
            ahead(p + 8 * B * j, j ? s + 2 * B * (j - 1) : scaled, s + 2 * B * j, s + 2 * B * j + B, kept[t][j]);
        for (int i = 0; i < B; i++) e[i] = exp(top[i] * extra[B + i] + extra[2 * B + i]);
        for (int i = 0; i < B; i++) sum += e[i], expected += next[i];
        for (int i = 0; i < B; i++) {
            double d = (e[i] * (expected / sum) - next[i]) / (B * (characters - 1));
            d_extra[B + i] += d * top[i], d_extra[2 * B + i] += d;
            d_top[t][i] = d * extra[B + i];
        }
    }
    for (int t = characters - 1; t-- > 0;) {
        for (int i = 0; i < B; i++) d_s[2 * B * (L - 1) + i] += d_top[t][i];
        for (int j = L; j-- > 0;) {
            back(p + 8 * B * j, d_p + 8 * B * j, kept[t][j], d_s + 2 * B * j, d_s + 2 * B * j + B, d_input);
            if (j)
                for (int i = 0; i < B; i++) d_s[2 * B * (j - 1) + i] += d_input[i];
        }
        for (int i = 0; i < B; i++) d_extra[i] += d_input[i] * sequence[t * B + i];
    }
}
