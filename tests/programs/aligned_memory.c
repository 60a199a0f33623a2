/* Addresses rounded up to an alignment by hand: in blocks, with the block's address kept before, and on the stack. */
#include "selfcheck.h"
#include <stddef.h>
#include <stdint.h>

typedef double four __attribute__((vector_size(32)));

static void *aligned(size_t size, size_t to)
{
    char *block = malloc(size + to);
    void **p = (void **)(((uintptr_t)block & ~(uintptr_t)63) + 64);
    p[-1] = block;
    return p;
}

static void release(void *p) { free(((void **)p)[-1]); }

/* Lanes are stored as wide as their alignment allows; shadows lie elsewhere. */
static double f(const double *x, int n)
{
    double *a = aligned((size_t)n * 4 * sizeof(double), 64), s = 0;
    double *b = (double *)(((uintptr_t)__builtin_alloca((size_t)n * sizeof(double) + 15) + 15) & ~(uintptr_t)15);
    for (int i = 0; i < n; i++) {
        *(four *)(a + 4 * i) = (four){x[i], x[i] * 2, 3, x[i] * x[i]};
        b[i] = x[i] * (i + 1);
    }
    for (int i = 0; i < n; i++) {
        four v = *(four *)(a + 4 * i) * b[n - 1 - i];
        s += v[0] * v[1] + v[2] * v[3];
    }
    release(a);
    return s;
}

/* The same memory by two ways. */
static double g(const double *x, int n)
{
    char *block = malloc((size_t)n * sizeof(double) + 511);
    double *p = (double *)__builtin_align_up(block, 512), s = 0;
    ptrdiff_t ahead = (char *)p - block;
    for (int i = 0; i < n; i++)
        p[i] = x[i] * (i + 1);
    for (int i = 0; i < n; i++)
        s += *(double *)(block + ahead + 8 * i) * p[n - 1 - i];
    free(block);
    return s;
}

int main(void)
{
    CHECK_GRADIENT(f, 5);
    CHECK_GRADIENT(g, 5);
    return failures();
}
