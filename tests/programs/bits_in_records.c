/* The bits of doubles in integers of records, which one function writes and another moves as the integers they are. */
#include "bits.h"

struct record {
    long word;
    int weight;
};

static __attribute__((noinline)) void copied(struct record *to, const struct record *from)
{
    to->word = from->word;
    to->weight = from->weight;
}

static double by_copies(const double *x, int n)
{
    struct record *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        v[i].word = packed(x[i] * x[i]);
        v[i].weight = i + 1;
    }
    for (int i = 0; i < n; i++)
        copied(w + n - 1 - i, v + i);
    for (int i = 0; i < n; i++)
        sum += sin(unpacked(w[i].word)) * w[i].weight;
    free(v);
    free(w);
    return sum;
}

/* The same against the language's rules of aliasing. */
static double by_casts(const double *x, int n)
{
    struct record *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        *(double *)&v[i].word = x[i] * x[i];
        v[i].weight = i + 1;
    }
    for (int i = 0; i < n; i++)
        copied(w + i, v + n - 1 - i);
    for (int i = 0; i < n; i++)
        sum += sin(*(double *)&w[i].word) * w[i].weight;
    free(v);
    free(w);
    return sum;
}

int main(void)
{
    CHECK_GRADIENT(by_copies, 6);
    CHECK_GRADIENT(by_casts, 6);
    return failures();
}
