/* Complex matrices column by column, in double precision. */
#include <stdint.h>
#include <stdlib.h>

#pragma STDC CX_LIMITED_RANGE ON

typedef double _Complex Z;

#define RE(z) __builtin_creal(z)
#define IM(z) __builtin_cimag(z)
#define CONJ(z) __builtin_conj(z)

static double square(Z z) { return RE(z) * RE(z) + IM(z) * IM(z); }

static Z *room(int64_t count) { return malloc((count > 0 ? count : 1) * sizeof(Z)); }

static Z *copied(int8_t kind, const void *from, int64_t m, int64_t n, int64_t step)
{
    Z *a = room(m * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            a[i + j * m] = kind == 'z' ? ((const Z *)from)[i + j * step] : ((const float _Complex *)from)[i + j * step];
    return a;
}

static void stored(int8_t kind, const Z *a, int64_t m, int64_t n, void *to, int64_t step)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            if (kind == 'z')
                ((Z *)to)[i + j * step] = a[i + j * m];
            else
                ((float _Complex *)to)[i + j * step] = a[i + j * m];
}

/* Real numbers that belong to complex ones of this kind. */
static void stored_reals(int8_t kind, const double *x, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++)
        if (kind == 'z')
            ((double *)to)[i] = x[i];
        else
            ((float *)to)[i] = x[i];
}
