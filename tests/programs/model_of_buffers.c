/* A struct with buffers for everything, some of which the first call makes: numbers that the caller owns are copied in
 * among what is active. Integers are no pointers: what is copied from there leads nowhere. */
#include "selfcheck.h"
struct model {
    int size, length;
    double *weights, *table, *activations, *losses;
    int *tokens, *targets;
};
static double f(struct model *m, const int *tokens, const int *targets, int length)
{
    if (m->activations == NULL) {
        double **made[] = {&m->activations, &m->losses};
        double *memory = malloc((size_t)length * (m->size + 1) * sizeof(double));
        size_t sizes[] = {(size_t)length * m->size, length};
        for (int i = 0; i < 2; i++) {
            *made[i] = memory;
            memory += sizes[i];
        }
        m->length = length;
        m->tokens = malloc(length * sizeof(int));
        m->targets = malloc(length * sizeof(int));
    }
    memcpy(m->tokens, tokens, length * sizeof(int));
    memcpy(m->targets, targets, length * sizeof(int));
    double sum = 0;
    for (int t = 0; t < length; t++) {
        double *a = m->activations + t * m->size, total = 0;
        for (int i = 0; i < m->size; i++) {
            a[i] = m->table[tokens[t] * m->size + i] * m->weights[i];
            total += exp(a[i]);
        }
        m->losses[t] = log(total) - a[targets[t]];
        sum += m->losses[t];
    }
    return sum / length;
}
static double loss(const double *x, int n)
{
    static const int tokens[] = {2, 0, 1, 2}, targets[] = {1, 0, 1, 1};
    struct model m = {2, 0, NULL, NULL, NULL, NULL, NULL, NULL};
    m.weights = (double *)x, m.table = (double *)x + 2;
    double value = f(&m, tokens, targets, 4);
    free(m.activations), free(m.tokens), free(m.targets);
    return value;
}
int main(void)
{
    const int tokens[] = {2, 0, 1, 2}, targets[] = {1, 0, 1, 1};
    double w[8], dw[8] = {0};
    sample(w, 8);
    struct model m = {2, 0, w, w + 2, NULL, NULL, NULL, NULL}, d = {2, 0, dw, dw + 2, NULL, NULL, NULL, NULL};
    __enzyme_autodiff((void *)f, enzyme_dup, &m, &d, enzyme_const, tokens, enzyme_const, targets, enzyme_const, 4);
    for (int i = 0; i < 8; i++)
        expect("gradient", i, dw[i], slope_by(loss, 8, i));
    free(m.activations), free(m.tokens), free(m.targets);
    free(d.activations), free(d.tokens), free(d.targets);
    return failures();
}
