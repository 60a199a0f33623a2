/* Matrices column by column, in double precision: of real numbers, or of complex ones where COMPLEX is defined. */
#include <stdint.h>
#include <stdlib.h>

#ifdef COMPLEX
#pragma STDC CX_LIMITED_RANGE ON
typedef double _Complex Z;
typedef float _Complex Narrow;
#define RE(z) __builtin_creal(z)
#define IM(z) __builtin_cimag(z)
#define CONJ(z) __builtin_conj(z)
#else
typedef double Z;
typedef float Narrow;
#define RE(z) (z)
#define IM(z) 0.0
#define CONJ(z) (z)
#endif

static double square(Z z) { return RE(z) * RE(z) + IM(z) * IM(z); }

static Z *room(int64_t count) { return malloc((count > 0 ? count : 1) * sizeof(Z)); }

/* LAPACK's names of types: are they of double precision? */
static int is_wide(int8_t kind) { return kind == 'd' || kind == 'z'; }

static Z *copied(int8_t kind, const void *from, int64_t m, int64_t n, int64_t step)
{
    Z *a = room(m * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            a[i + j * m] = is_wide(kind) ? ((const Z *)from)[i + j * step] : ((const Narrow *)from)[i + j * step];
    return a;
}

static void stored(int8_t kind, const Z *a, int64_t m, int64_t n, void *to, int64_t step)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            if (is_wide(kind))
                ((Z *)to)[i + j * step] = a[i + j * m];
            else
                ((Narrow *)to)[i + j * step] = a[i + j * m];
}

/* Real numbers that belong to elements of this kind. */
static void stored_reals(int8_t kind, const double *x, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++)
        if (is_wide(kind))
            ((double *)to)[i] = x[i];
        else
            ((float *)to)[i] = x[i];
}
