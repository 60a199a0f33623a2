/* Pointers that are moved two at a time, as LLVM's vectoriser does it: by an index of elements, or of pairs. */
#include "selfcheck.h"

typedef long pair __attribute__((vector_size(16), aligned(8), may_alias));

static void exchanged(double **a, double **b, int n)
{
    for (int i = 0; i + 1 < n; i += 2) {
        pair held = *(pair *)(a + i);
        *(pair *)(a + i) = *(pair *)(b + i);
        *(pair *)(b + i) = held;
    }
}

static void exchanged_by_pairs(double **a, double **b, int n)
{
    for (int k = 0; 2 * k + 1 < n; k++) {
        pair held = *(pair *)(a + 2 * k);
        *(pair *)(a + 2 * k) = *(pair *)(b + 2 * k);
        *(pair *)(b + 2 * k) = held;
    }
}

/* Each round exchanges all pointers of one array with those of another, in pairs, then moves what they point to. */
#define ROUNDS(name, exchange)                                                          \
    static double name(const double *x, int n)                                          \
    {                                                                                   \
        double **a = malloc(n * sizeof *a), **b = malloc(n * sizeof *b), sum = 0;       \
        for (int i = 0; i < n; i++) {                                                   \
            a[i] = malloc(sizeof **a), b[i] = malloc(sizeof **b);                       \
            *a[i] = x[i], *b[i] = x[i] * x[(i + 1) % n];                                \
        }                                                                               \
        for (int t = 0; t < 3; t++) {                                                   \
            exchange(a, b, n);                                                          \
            for (int i = 0; i < n; i++)                                                 \
                *a[i] += sin(*b[(i + t) % n]);                                          \
        }                                                                               \
        for (int i = 0; i < n; i++) {                                                   \
            sum += *a[i] * (i + 1) + *b[i];                                             \
            free(a[i]), free(b[i]);                                                     \
        }                                                                               \
        free(a), free(b);                                                               \
        return sum;                                                                     \
    }

ROUNDS(rounds, exchanged)
ROUNDS(rounds_by_pairs, exchanged_by_pairs)

int main(void)
{
    CHECK_GRADIENT(rounds, 5);
    CHECK_GRADIENT(rounds_by_pairs, 5);
    return failures();
}
