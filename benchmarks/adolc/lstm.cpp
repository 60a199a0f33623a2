// `programs/lstm.c` in ADOL-C's numbers; the trace is made anew for each gradient, as control flow may change.
#include "program.hpp"

enum { L = 2, B = 14, MAIN = 8 * L * B, PARAMETERS = MAIN + 3 * B };
static double p[PARAMETERS], d_p[PARAMETERS], state[2 * L * B];
static std::vector<double> sequence;
static int characters;

void setup(int size)
{
    characters = size;
    sequence.resize(size * B);
    for (int i = 0; i < PARAMETERS; i++) p[i] = 2 * noise(i) - 1;
    for (int i = 0; i < 2 * L * B; i++) state[i] = noise(3 * i) - 0.5;
    for (int i = 0; i < size * B; i++) sequence[i] = noise(7 * i) < 0.5;
}

template <class T> static T sigmoid(const T &x) { return 1 / (1 + exp(-x)); }

template <class T> static T objective(const T *q)
{
    const T *extra = q + MAIN;
    T s[2 * L * B], input[B], prediction[B], total = 0;
    for (int i = 0; i < 2 * L * B; i++) s[i] = state[i];
    for (int t = 0; t + 1 < characters; t++) {
        for (int i = 0; i < B; i++) input[i] = sequence[t * B + i] * extra[i];
        for (int j = 0; j < L; j++) {
            const T *w = q + 8 * B * j, *b = w + 4 * B;
            T *hidden = s + 2 * B * j, *cell = hidden + B;
            for (int i = 0; i < B; i++) {
                T forget = sigmoid<T>(input[i] * w[i] + b[i]), ingate = sigmoid<T>(hidden[i] * w[B + i] + b[B + i]);
                T outgate = sigmoid<T>(input[i] * w[2 * B + i] + b[2 * B + i]);
                cell[i] = cell[i] * forget + ingate * tanh(hidden[i] * w[3 * B + i] + b[3 * B + i]);
                hidden[i] = outgate * tanh(cell[i]);
                input[i] = hidden[i];
            }
        }
        T sum = 2;
        for (int i = 0; i < B; i++) {
            prediction[i] = input[i] * extra[B + i] + extra[2 * B + i];
            sum += exp(prediction[i]);
        }
        T rest = log(sum);
        for (int i = 0; i < B; i++) total += sequence[(t + 1) * B + i] * (prediction[i] - rest);
    }
    return -total / (B * (characters - 1));
}

double primal() { return objective(p); }

extern "C" PUBLIC void adjoint(void)
{
    double out;
    trace_on(1);
    std::vector<adouble> q(PARAMETERS);
    for (int i = 0; i < PARAMETERS; i++) q[i] <<= p[i];
    objective(q.data()) >>= out;
    trace_off();
    gradient(1, PARAMETERS, p, d_p);
}

double *derivative(int *count) { return *count = PARAMETERS, d_p; }
