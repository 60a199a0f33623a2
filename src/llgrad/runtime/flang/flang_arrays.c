/* Bodies of the array intrinsics that flang leaves to its runtime (all of them at -O0, few above), for arrays of numbers
 * and logicals up to rank 4, and of what allocates arrays where a status is asked for. As in flang.c, types and ranks
 * fold. Sums are plain ones, not compensated. */
#include <float.h>
#include "flang.h"
#pragma STDC CX_LIMITED_RANGE ON

extern void _FortranAInitialize(const Descriptor *d, const char *file, int line);

typedef double _Complex DoubleComplex;
typedef float _Complex FloatComplex;

/* The view of an array with dimension `dim` (from 1) last, the others in their order before it. */
INSIDE Array last(Array a, int dim)
{
    Array b = a;
    if (dim == 4) return a;
    b.n3 = dim == 1 ? a.n0 : dim == 2 ? a.n1 : a.n2, b.s3 = dim == 1 ? a.s0 : dim == 2 ? a.s1 : a.s2;
    b.n2 = a.n3, b.s2 = a.s3;
    if (dim < 3) b.n1 = a.n2, b.s1 = a.s2;
    if (dim == 1) b.n0 = a.n1, b.s0 = a.s1;
    return b;
}

INSIDE Array without(Array a, int64_t bytes)
{
    a.n3 = 1, a.rank--, a.bytes = bytes;
    return allocated(a);
}

INSIDE void give(Descriptor *result, const Descriptor *like, Array made)
{
    describe(result, like, made.rank);
    result->bytes = made.bytes, result->type = made.type;
    set(result, made, (Dimension){1, 0, 0});
}

/* --- all elements to one number, or those along a dimension to one each ------------------------------------------- */

INSIDE Array masked(const Descriptor *mask, Array otherwise) { return mask ? array_of(mask) : otherwise; }
#define CHOSEN(mask, m, i, j, k, l) (!(mask) || holds((m).bytes, AT(m, i, j, k, l)))

#define REDUCED(type, start, step)                                             \
    Array a = array_of(x), m = masked(mask, a);                            \
    type r = start;                                                        \
    ROWS(a, {                                                              \
        if (CHOSEN(mask, m, i, j, k, l)) {                                 \
            type v = *(const type *)AT(a, i, j, k, l);                     \
            step;                                                          \
        }                                                                  \
    })
#define WHOLE(name, type, start, step)                                         \
    API type name(const Descriptor *x, const char *file, int line, int dim, const Descriptor *mask) \
    {                                                                          \
        REDUCED(type, start, step)                                             \
        return r;                                                              \
    }
#define COMPLEX(name, type, start, step)                                       \
    API void name(type *result, const Descriptor *x, const char *file, int line, int dim, const Descriptor *mask) \
    {                                                                          \
        REDUCED(type, start, step)                                             \
        *result = r;                                                           \
    }
WHOLE(_FortranASumReal4, float, 0, r += v)
WHOLE(_FortranASumReal8, double, 0, r += v)
WHOLE(_FortranAProductReal4, float, 1, r *= v)
WHOLE(_FortranAProductReal8, double, 1, r *= v)
WHOLE(_FortranAMaxvalReal4, float, -FLT_MAX, if (v > r) r = v)
WHOLE(_FortranAMaxvalReal8, double, -DBL_MAX, if (v > r) r = v)
WHOLE(_FortranAMinvalReal4, float, FLT_MAX, if (v < r) r = v)
WHOLE(_FortranAMinvalReal8, double, DBL_MAX, if (v < r) r = v)
COMPLEX(_FortranACppSumComplex4, FloatComplex, 0, r += v)
COMPLEX(_FortranACppSumComplex8, DoubleComplex, 0, r += v)
COMPLEX(_FortranACppProductComplex4, FloatComplex, 1, r *= v)
COMPLEX(_FortranACppProductComplex8, DoubleComplex, 1, r *= v)

#define ALONG(type, start, step, end)                                          \
    for (int64_t k = 0; k < a.n2; k++)                                         \
        for (int64_t j = 0; j < a.n1; j++)                                     \
            for (int64_t i = 0; i < a.n0; i++) {                               \
                type r = start;                                                \
                for (int64_t l = 0; l < a.n3; l++)                             \
                    if (CHOSEN(mask, m, i, j, k, l)) {                         \
                        type v = *(const type *)AT(a, i, j, k, l);             \
                        step;                                                  \
                    }                                                          \
                *(type *)AT(made, i, j, k, 0) = end;                           \
            }
/* Integers of any length, read and written as the longest. */
INSIDE int64_t integer(int64_t bytes, const char *at)
{
    if (bytes == 8) return *(const int64_t *)at;
    if (bytes == 4) return *(const int32_t *)at;
    return bytes == 2 ? *(const int16_t *)at : *(const int8_t *)at;
}

INSIDE void put(int kind, char *at, int64_t value)
{
    if (kind == 8) *(int64_t *)at = value;
    else if (kind == 4) *(int32_t *)at = value;
    else if (kind == 2) *(int16_t *)at = value;
    else *(int8_t *)at = value;
}

#define NUMBERS(name, real4, real8, whole, step, complex)                      \
    API void name(Descriptor *result, const Descriptor *x, int dim, const char *file, int line, const Descriptor *mask) \
    {                                                                          \
        Array a = last(array_of(x), dim), made = without(a, a.bytes);          \
        Array m = mask ? last(array_of(mask), dim) : a;                        \
        if (mask && !mask->rank) m = array_of(mask);                           \
        if (a.type == TYPE_DOUBLE) { ALONG(double, real8, step, r) }           \
        else if (a.type == TYPE_FLOAT) { ALONG(float, real4, step, r) }        \
        complex                                                                \
        else if (simple(x)) {                                                  \
            for (int64_t k = 0; k < a.n2; k++)                                 \
                for (int64_t j = 0; j < a.n1; j++)                             \
                    for (int64_t i = 0; i < a.n0; i++) {                       \
                        int64_t r = whole;                                     \
                        for (int64_t l = 0; l < a.n3; l++)                     \
                            if (CHOSEN(mask, m, i, j, k, l)) {                 \
                                int64_t v = integer(a.bytes, AT(a, i, j, k, l)); \
                                step;                                          \
                            }                                                  \
                        put(a.bytes, AT(made, i, j, k, 0), r);                 \
                    }                                                          \
        } else {                                                               \
            llgrad_fail(4, 0);                                                 \
        }                                                                      \
        give(result, x, made);                                                 \
    }
#define COMPLEX_TOO(start, step)                                               \
    else if (a.type == TYPE_DOUBLE_COMPLEX) { ALONG(DoubleComplex, start, step, r) } \
    else if (a.type == TYPE_FLOAT_COMPLEX) { ALONG(FloatComplex, start, step, r) }
#define LEAST (a.bytes == 8 ? INT64_MIN : -((int64_t)1 << (8 * a.bytes - 1)))
#define MOST (a.bytes == 8 ? INT64_MAX : ((int64_t)1 << (8 * a.bytes - 1)) - 1)
NUMBERS(_FortranASumDim, 0, 0, 0, r += v, COMPLEX_TOO(0, r += v))
NUMBERS(_FortranAProductDim, 1, 1, 1, r *= v, COMPLEX_TOO(1, r *= v))
NUMBERS(_FortranAMaxvalDim, -FLT_MAX, -DBL_MAX, LEAST, if (v > r) r = v, )
NUMBERS(_FortranAMinvalDim, FLT_MAX, DBL_MAX, MOST, if (v < r) r = v, )

API void _FortranANorm2Dim(Descriptor *result, const Descriptor *x, int dim, const char *file, int line)
{
    Array a = last(array_of(x), dim), made = without(a, a.bytes), m = a;
    const Descriptor *mask = 0;
    if (a.type == TYPE_DOUBLE) { ALONG(double, 0, r += v * v, sqrt(r)) }
    else { ALONG(float, 0, r += v * v, sqrtf(r)) }
    give(result, x, made);
}

API _Bool _FortranAAny(const Descriptor *x, const char *file, int line, int dim)
{
    Array a = array_of(x);
    ROWS(a, { if (holds(a.bytes, AT(a, i, j, k, l))) return 1; })
    return 0;
}

API _Bool _FortranAAll(const Descriptor *x, const char *file, int line, int dim)
{
    Array a = array_of(x);
    ROWS(a, { if (!holds(a.bytes, AT(a, i, j, k, l))) return 0; })
    return 1;
}

API int64_t _FortranACount(const Descriptor *x, const char *file, int line, int dim)
{
    Array a = array_of(x);
    int64_t n = 0;
    ROWS(a, { n += holds(a.bytes, AT(a, i, j, k, l)); })
    return n;
}

/* `reduce`: with a function of references to numbers, or of numbers. */
#define BY_REFERENCE(r, v) f(&r, &v)
#define BY_VALUE(r, v) f(r, v)
#define FOLDED(type, value, called)                                            \
    if (CHOSEN(mask, m, i, j, k, l)) {                                         \
        type v = *(const type *)AT(a, i, j, k, l);                             \
        value = some ? called(value, v) : v;                                   \
        some = 1;                                                              \
    }
#define REDUCE(name, type, given, called)                                      \
    API type name(const Descriptor *x, type (*f)(given, given), const char *file, int line, int dim, \
                  const Descriptor *mask, const type *identity, _Bool ordered) \
    {                                                                          \
        Array a = array_of(x), m = masked(mask, a);                            \
        type r = identity ? *identity : 0;                                     \
        _Bool some = 0;                                                        \
        ROWS(a, { FOLDED(type, r, called) })                                   \
        return r;                                                              \
    }
#define REDUCE_ROWS(name, type, given, called)                                 \
    API void name(Descriptor *result, const Descriptor *x, type (*f)(given, given), const char *file, int line, int dim, \
                  const Descriptor *mask, const type *identity, _Bool ordered) \
    {                                                                          \
        Array a = last(array_of(x), dim), made = without(a, a.bytes);          \
        Array m = mask ? last(array_of(mask), dim) : a;                        \
        if (mask && !mask->rank) m = array_of(mask);                           \
        for (int64_t k = 0; k < a.n2; k++)                                     \
            for (int64_t j = 0; j < a.n1; j++)                                 \
                for (int64_t i = 0; i < a.n0; i++) {                           \
                    type r = identity ? *identity : 0;                         \
                    _Bool some = 0;                                            \
                    for (int64_t l = 0; l < a.n3; l++) FOLDED(type, r, called) \
                    *(type *)AT(made, i, j, k, 0) = r;                         \
                }                                                              \
        give(result, x, made);                                                 \
    }
REDUCE(_FortranAReduceReal4Ref, float, const float *, BY_REFERENCE)
REDUCE(_FortranAReduceReal8Ref, double, const double *, BY_REFERENCE)
REDUCE(_FortranAReduceReal4Value, float, float, BY_VALUE)
REDUCE(_FortranAReduceReal8Value, double, double, BY_VALUE)
REDUCE_ROWS(_FortranAReduceReal4DimRef, float, const float *, BY_REFERENCE)
REDUCE_ROWS(_FortranAReduceReal8DimRef, double, const double *, BY_REFERENCE)
REDUCE_ROWS(_FortranAReduceReal4DimValue, float, float, BY_VALUE)
REDUCE_ROWS(_FortranAReduceReal8DimValue, double, double, BY_VALUE)

/* --- where an element is: what is found is numbers ------------------------------------------------------------------ */

enum { LOGICAL = 14 }; /* the first code of logicals */

/* Texts are compared as if the shorter one ended in blanks. */
INSIDE int order_of_texts(int64_t n, const char *a, int64_t more, const char *b)
{
    for (int64_t i = 0; i < n || i < more; i++) {
        unsigned char x = i < n ? a[i] : ' ', y = i < more ? b[i] : ' ';
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

INSIDE double real_number(Array a, const char *at)
{
    if (a.type == TYPE_DOUBLE || a.type == TYPE_DOUBLE_COMPLEX) return *(const double *)at;
    if (a.type == TYPE_FLOAT || a.type == TYPE_FLOAT_COMPLEX) return *(const float *)at;
    return integer(a.bytes, at);
}

/* Is an element before another (-1), behind it (1), or the same? */
INSIDE int order(Array a, const char *at, Array b, const char *other)
{
    if (a.type == TYPE_TEXT) return order_of_texts(a.bytes, at, b.bytes, other);
    int whole = a.type < TYPE_FLOAT, wholes = b.type < TYPE_FLOAT;
    if (whole && wholes) {
        int64_t x = integer(a.bytes, at), y = integer(b.bytes, other);
        return x < y ? -1 : x > y;
    }
    double x = real_number(a, at), y = real_number(b, other);
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

INSIDE double imaginary(Array a, const char *at)
{
    if (a.type == TYPE_DOUBLE_COMPLEX) return ((const double *)at)[1];
    return a.type == TYPE_FLOAT_COMPLEX ? ((const float *)at)[1] : 0;
}

INSIDE int meets(int what, Array a, const char *at, const char *best, const Descriptor *target)
{
    if (what == '>') return order(a, at, a, best) == 1;
    if (what == '<') return order(a, at, a, best) == -1;
    if (a.type >= LOGICAL && a.type < LOGICAL + 5) return holds(a.bytes, at) == holds(target->bytes, target->base);
    Array b = array_of(target);
    return !order(a, at, b, b.base) && imaginary(a, at) == imaginary(b, b.base);
}

INSIDE void place(Descriptor *result, const Descriptor *x, int what, const Descriptor *target, int kind,
                  const Descriptor *mask, _Bool back)
{
    Array a = array_of(x), m = masked(mask, a), made = vector(a, a.rank);
    int64_t at0 = 0, at1 = 0, at2 = 0, at3 = 0;
    const char *best = a.base;
    made.bytes = kind, made.type = kind == 8 ? 10 : kind == 4 ? 9 : kind == 2 ? 8 : 7;
    made = allocated(made);
    ROWS(a, {
        const char *p = AT(a, i, j, k, l);
        if (CHOSEN(mask, m, i, j, k, l)) {
            int first = !at0, equal = what != '=' && back && !first && !order(a, p, a, best);
            if (what == '=' ? (first || back) && meets(what, a, p, best, target)
                            : first || equal || meets(what, a, p, best, target))
                at0 = i + 1, at1 = j + 1, at2 = k + 1, at3 = l + 1, best = p;
        }
    })
    put(kind, made.base, at0);
    if (a.rank > 1) put(kind, made.base + kind, at1);
    if (a.rank > 2) put(kind, made.base + 2 * kind, at2);
    if (a.rank > 3) put(kind, made.base + 3 * kind, at3);
    give(result, x, made);
}

INSIDE void places(Descriptor *result, const Descriptor *x, int what, const Descriptor *target, int kind, int dim,
                   const Descriptor *mask, _Bool back)
{
    Array a = last(array_of(x), dim), made = without(a, kind), m = mask ? last(array_of(mask), dim) : a;
    if (mask && !mask->rank) m = array_of(mask);
    made.type = kind == 8 ? 10 : kind == 4 ? 9 : kind == 2 ? 8 : 7;
    for (int64_t k = 0; k < a.n2; k++)
        for (int64_t j = 0; j < a.n1; j++)
            for (int64_t i = 0; i < a.n0; i++) {
                int64_t at = 0;
                const char *best = a.base;
                for (int64_t l = 0; l < a.n3; l++) {
                    const char *p = AT(a, i, j, k, l);
                    if (!CHOSEN(mask, m, i, j, k, l)) continue;
                    int equal = what != '=' && back && at && !order(a, p, a, best);
                    if (what == '=' ? (!at || back) && meets(what, a, p, best, target)
                                    : !at || equal || meets(what, a, p, best, target))
                        at = l + 1, best = p;
                }
                put(kind, AT(made, i, j, k, 0), at);
            }
    give(result, x, made);
}

#define PLACE(name, what)                                                      \
    API void name(Descriptor *result, const Descriptor *x, int kind, const char *file, int line, \
                             const Descriptor *mask, _Bool back)               \
    {                                                                          \
        place(result, x, what, 0, kind, mask, back);                           \
    }
PLACE(_FortranAMaxlocReal4, '>')
PLACE(_FortranAMaxlocReal8, '>')
PLACE(_FortranAMinlocReal4, '<')
PLACE(_FortranAMinlocReal8, '<')
#define PLACES(name, what)                                                     \
    API void name(Descriptor *result, const Descriptor *x, int kind, int dim, const char *file, int line, \
                             const Descriptor *mask, _Bool back)               \
    {                                                                          \
        places(result, x, what, 0, kind, dim, mask, back);                     \
    }
PLACES(_FortranAMaxlocDim, '>')
PLACES(_FortranAMinlocDim, '<')

API void _FortranAFindloc(Descriptor *result, const Descriptor *x, const Descriptor *target, int kind, const char *file,
                          int line, const Descriptor *mask, _Bool back)
{
    place(result, x, '=', target, kind, mask, back);
}

API void _FortranAFindlocDim(Descriptor *result, const Descriptor *x, const Descriptor *target, int kind, int dim,
                             const char *file, int line, const Descriptor *mask, _Bool back)
{
    places(result, x, '=', target, kind, dim, mask, back);
}

/* --- products of vectors and matrices --------------------------------------------------------------------------------- */

#define DOT(name, type)                                                        \
    API type name(const Descriptor *x, const Descriptor *y, const char *file, int line) \
    {                                                                          \
        Array a = array_of(x), b = array_of(y);                                \
        type sum = 0;                                                          \
        for (int64_t i = 0; i < a.n0; i++)                                     \
            sum += *(const type *)AT(a, i, 0, 0, 0) * *(const type *)AT(b, i, 0, 0, 0); \
        return sum;                                                            \
    }
DOT(_FortranADotProductReal4, float)
DOT(_FortranADotProductReal8, double)
#define DOT_COMPLEX(name, type, conjugate)                                     \
    API void name(type *result, const Descriptor *x, const Descriptor *y, const char *file, int line) \
    {                                                                          \
        Array a = array_of(x), b = array_of(y);                                \
        type sum = 0;                                                          \
        for (int64_t i = 0; i < a.n0; i++)                                     \
            sum += conjugate(*(const type *)AT(a, i, 0, 0, 0)) * *(const type *)AT(b, i, 0, 0, 0); \
        *result = sum;                                                         \
    }
DOT_COMPLEX(_FortranACppDotProductComplex4, FloatComplex, __builtin_conjf)
DOT_COMPLEX(_FortranACppDotProductComplex8, DoubleComplex, __builtin_conj)

/* A vector on the left is a row, one on the right a column. */
#define MATMUL(name, type)                                                     \
    API void name(Descriptor *result, const Descriptor *x, const Descriptor *y, const char *file, int line) \
    {                                                                          \
        Array a = array_of(x), b = array_of(y), c = a;                         \
        int row = a.rank == 1, column = b.rank == 1;                           \
        if (row) a.n1 = a.n0, a.s1 = a.s0, a.n0 = 1, a.s0 = 0;                 \
        c.n0 = row ? b.n1 : a.n0, c.n1 = row || column ? 1 : b.n1, c.rank = row || column ? 1 : 2; \
        c = allocated(c);                                                      \
        for (int64_t j = 0; j < b.n1; j++)                                     \
            for (int64_t i = 0; i < a.n0; i++) {                               \
                type sum = 0;                                                  \
                for (int64_t l = 0; l < a.n1; l++)                             \
                    sum += *(const type *)AT(a, i, l, 0, 0) * *(const type *)AT(b, l, j, 0, 0); \
                *(type *)(c.base + (i + j * a.n0) * c.bytes) = sum;            \
            }                                                                  \
        give(result, x, c);                                                    \
    }
MATMUL(_FortranAMatmulReal4Real4, float)
MATMUL(_FortranAMatmulReal8Real8, double)
MATMUL(_FortranAMatmulComplex4Complex4, FloatComplex)
MATMUL(_FortranAMatmulComplex8Complex8, DoubleComplex)

/* --- elements in another order ---------------------------------------------------------------------------------------- */

API void _FortranATranspose(Descriptor *result, const Descriptor *x, const char *file, int line)
{
    Array a = array_of(x), from = a;
    from.n0 = a.n1, from.s0 = a.s1, from.n1 = a.n0, from.s1 = a.s0;
    Array made = allocated(from);
    copy(made, from);
    give(result, x, made);
}

INSIDE int64_t whole(const Descriptor *d, int n)
{
    const char *at = d->base + n * d->dim[0].stride;
    return d->bytes == 8 ? *(const int64_t *)at : d->bytes == 4 ? *(const int32_t *)at : *(const int16_t *)at;
}

INSIDE Array in_one_stretch(Array a)
{
    Array made = allocated(a);
    copy(made, a);
    return made;
}

/* `order` says which dimension of the result is filled first, which next. */
API void _FortranAReshape(Descriptor *result, const Descriptor *x, const Descriptor *shape, const Descriptor *pad,
                          const Descriptor *order, const char *file, int line)
{
    Array a = array_of(x), r = a, from = in_one_stretch(a), fill = from, one, to;
    int64_t count = elements(a), more = 1, at = 0;
    r.rank = shape->dim[0].extent;
    r.n0 = r.rank > 0 ? whole(shape, 0) : 1, r.n1 = r.rank > 1 ? whole(shape, 1) : 1;
    r.n2 = r.rank > 2 ? whole(shape, 2) : 1, r.n3 = r.rank > 3 ? whole(shape, 3) : 1;
    r = allocated(r);
    if (pad) fill = in_one_stretch(array_of(pad)), more = elements(fill);
    Array w = r;
    if (order) {
        int64_t p0 = whole(order, 0), p1 = r.rank > 1 ? whole(order, 1) : 2, p2 = r.rank > 2 ? whole(order, 2) : 3;
        int64_t p3 = r.rank > 3 ? whole(order, 3) : 4;
#define PICK(x, p) (p == 1 ? r.x##0 : p == 2 ? r.x##1 : p == 3 ? r.x##2 : r.x##3)
        w.n0 = PICK(n, p0), w.n1 = PICK(n, p1), w.n2 = PICK(n, p2), w.n3 = PICK(n, p3);
        w.s0 = PICK(s, p0), w.s1 = PICK(s, p1), w.s2 = PICK(s, p2), w.s3 = PICK(s, p3);
    }
    one = vector(from, 1), to = vector(r, 1);
    ROWS(w, {
        to.base = AT(w, i, j, k, l);
        one.base = at < count ? from.base + at * a.bytes : fill.base + (at - count) % more * a.bytes;
        copy(to, one);
        at++;
    })
    free(from.base);
    if (pad) free(fill.base);
    give(result, x, r);
}

/* Elements along a dimension, `shift` further on: from the other end, or `edge` (zero where there is none). */
INSIDE void shifted(Descriptor *result, const Descriptor *x, Array by, int64_t shift, _Bool around, const Descriptor *edge,
                    int dim)
{
    Array whole_of = array_of(x), made = allocated(whole_of), a = last(whole_of, dim), to = last(made, dim);
    Array one = vector(a, 1), place = vector(made, 1), border = edge ? array_of(edge) : one;
    char zero[16] = {0};
    for (int64_t l = 0; l < a.n3; l++)
        for (int64_t k = 0; k < a.n2; k++)
            for (int64_t j = 0; j < a.n1; j++)
                for (int64_t i = 0; i < a.n0; i++) {
                    int64_t n = by.base ? integer(by.bytes, AT(by, i, j, k, 0)) : shift, at = l + n;
                    if (around) at = (at % a.n3 + a.n3) % a.n3;
                    one.base = at >= 0 && at < a.n3 ? AT(a, i, j, k, at) : edge ? AT(border, i, j, k, 0) : zero;
                    place.base = AT(to, i, j, k, l);
                    copy(place, one);
                }
    give(result, x, made);
}

API void _FortranACshiftVector(Descriptor *result, const Descriptor *x, int64_t shift, const char *file, int line)
{
    shifted(result, x, (Array){0}, shift, 1, 0, 1);
}

API void _FortranACshift(Descriptor *result, const Descriptor *x, const Descriptor *shift, int dim, const char *file, int line)
{
    shifted(result, x, array_of(shift), 0, 1, 0, dim);
}

API void _FortranAEoshiftVector(Descriptor *result, const Descriptor *x, int64_t shift, const Descriptor *edge,
                                const char *file, int line)
{
    shifted(result, x, (Array){0}, shift, 0, edge, 1);
}

API void _FortranAEoshift(Descriptor *result, const Descriptor *x, const Descriptor *shift, const Descriptor *edge, int dim,
                          const char *file, int line)
{
    shifted(result, x, array_of(shift), 0, 0, edge, dim);
}

API void _FortranAUnpack(Descriptor *result, const Descriptor *from, const Descriptor *mask, const Descriptor *field,
                         const char *file, int line)
{
    Array v = array_of(from), m = array_of(mask), f = array_of(field), made = v, one = vector(v, 1);
    made.n0 = m.n0, made.n1 = m.n1, made.n2 = m.n2, made.n3 = m.n3, made.rank = m.rank;
    made = allocated(made);
    Array to = vector(made, 1);
    int64_t at = 0;
    ROWS(m, {
        _Bool chosen = holds(m.bytes, AT(m, i, j, k, l));
        one.base = chosen ? AT(v, at, 0, 0, 0) : AT(f, i, j, k, l);
        to.base = AT(made, i, j, k, l);
        copy(to, one);
        at += chosen;
    })
    give(result, from, made);
}

/* --- allocation that flang leaves to its runtime: where a status is asked for, with `source=`, with `mold=` --------------- */

#define SET_BOUNDS(name)                                                       \
    API void name(Descriptor *d, int dim, int64_t lower, int64_t upper)        \
    {                                                                          \
        Dimension bounds = {lower, upper < lower ? 0 : upper - lower + 1, 0};  \
        if (dim == 0) d->dim[0] = bounds;                                      \
        if (dim == 1) d->dim[1] = bounds;                                      \
        if (dim == 2) d->dim[2] = bounds;                                      \
        if (dim == 3) d->dim[3] = bounds;                                      \
    }
SET_BOUNDS(_FortranAAllocatableSetBounds)
SET_BOUNDS(_FortranAPointerSetBounds)

API void _FortranAAllocatableApplyMold(Descriptor *d, const Descriptor *mold, int rank)
{
    d->bytes = mold->bytes, d->type = mold->type;
    if (rank > 0 && mold->rank > 0) d->dim[0] = mold->dim[0];
    if (rank > 1 && mold->rank > 1) d->dim[1] = mold->dim[1];
    if (rank > 2 && mold->rank > 2) d->dim[2] = mold->dim[2];
    if (rank > 3 && mold->rank > 3) d->dim[3] = mold->dim[3];
}

/* Memory for what a descriptor describes; components of a derived type are the runtime's. */
INSIDE void allocate(Descriptor *d, const char *file, int line)
{
    Array a = allocated(array_of(d));
    set_strides(d, a);
    if (d->rank > RANKS || d->extra & HAS_ADDENDUM) _FortranAInitialize(d, file, line);
}

API int _FortranAAllocatableAllocate(Descriptor *d, const int64_t *stream, _Bool status, const Descriptor *message,
                                     const char *file, int line)
{
    if (d->base) {
        if (!status) llgrad_fail(4, 0);
        return 1;
    }
    allocate(d, file, line);
    return 0;
}

API int _FortranAPointerAllocate(Descriptor *d, _Bool status, const Descriptor *message, const char *file, int line)
{
    allocate(d, file, line);
    return 0;
}

API int _FortranAPointerAllocateSource(Descriptor *d, const Descriptor *source, _Bool status, const Descriptor *message,
                                       const char *file, int line)
{
    owns_nothing(source);
    allocate(d, file, line);
    copy(array_of(d), array_of(source));
    return 0;
}

API int _FortranAAllocatableAllocateSource(Descriptor *d, const Descriptor *source, _Bool status, const Descriptor *message,
                                           const char *file, int line)
{
    owns_nothing(source);
    int failed = _FortranAAllocatableAllocate(d, 0, status, message, file, line);
    if (!failed) copy(array_of(d), array_of(source));
    return failed;
}

#define DEALLOCATE(name)                                                       \
    API int name(Descriptor *d, _Bool status, const Descriptor *message, const char *file, int line) \
    {                                                                          \
        if (!d->base) {                                                        \
            if (!status) llgrad_fail(4, 0);                                    \
            return 1;                                                          \
        }                                                                      \
        free(d->base);                                                         \
        d->base = 0;                                                           \
        return 0;                                                              \
    }
DEALLOCATE(_FortranAAllocatableDeallocate)
DEALLOCATE(_FortranAPointerDeallocate)

API int _FortranAMoveAlloc(Descriptor *to, Descriptor *from, const void *type, _Bool status, const Descriptor *message,
                           const char *file, int line)
{
    free(to->base);
    to->base = from->base, to->bytes = from->bytes, to->type = from->type;
    if (from->rank > 0) to->dim[0] = from->dim[0];
    if (from->rank > 1) to->dim[1] = from->dim[1];
    if (from->rank > 2) to->dim[2] = from->dim[2];
    if (from->rank > 3) to->dim[3] = from->dim[3];
    from->base = 0;
    return 0;
}

API _Bool _FortranAPointerIsAssociatedWith(const Descriptor *d, const Descriptor *target)
{
    if (!d->base || !target || !target->base) return d->base && !target;
    Array a = array_of(d), b = array_of(target);
    if (a.base != b.base || a.rank != b.rank || !same_shape(a, b) || !elements(a)) return 0;
    return (a.n0 < 2 || a.s0 == b.s0) && (a.n1 < 2 || a.s1 == b.s1) && (a.n2 < 2 || a.s2 == b.s2) &&
           (a.n3 < 2 || a.s3 == b.s3);
}

/* --- bits ------------------------------------------------------------------------------------------------------------- */

/* The result has the shape that `mold` and the length of `x` say, or `size` elements; its descriptor knows the type. */
INSIDE void transferred(Descriptor *result, const Descriptor *x, const Descriptor *mold, int64_t size)
{
    Array from = in_one_stretch(array_of(x)), made = known(result, 0, mold->type, mold->bytes);
    int64_t bytes = from.bytes * elements(from), each = mold->bytes;
    made.bytes = each;
    if (mold->rank || size >= 0) made = vector(made, size >= 0 ? size : each ? (bytes + each - 1) / each : 0);
    made = allocated(made);
    int64_t room = made.bytes * elements(made);
    if (room == 8 && bytes == 8) __builtin_memcpy(made.base, from.base, 8);
    else if (room == 4 && bytes == 4) __builtin_memcpy(made.base, from.base, 4);
    else __builtin_memcpy(made.base, from.base, bytes < room ? bytes : room);
    free(from.base);
    result->bytes = each, result->rank = made.rank;
    set_known(result, made, 1);
}

API void _FortranATransfer(Descriptor *result, const Descriptor *x, const Descriptor *mold, const char *file, int line)
{
    transferred(result, x, mold, -1);
}

API void _FortranATransferSize(Descriptor *result, const Descriptor *x, const Descriptor *mold, const char *file, int line,
                               int64_t size)
{
    transferred(result, x, mold, size);
}

/* --- numbers that are drawn, and clocks that are read: into memory of their own first ------------------------------------------------------------- */

extern void _FortranARandomNumber(const Descriptor *d, const char *file, int line);
extern void _FortranAEtime(const Descriptor *values, const Descriptor *time, const char *file, int line);

/* A descriptor of an array like another one, and that array. */
INSIDE Array beside(Descriptor *own, const Descriptor *d)
{
    Array made = allocated(array_of(d));
    own->base = made.base, own->bytes = d->bytes, own->version = d->version, own->rank = d->rank, own->type = d->type;
    own->attribute = 0, own->extra = 0;
    set(own, made, (Dimension){1, 0, 0});
    return made;
}

API void llgrad_Drawn(const Descriptor *d, const char *file, int line)
{
    Descriptor own;
    Array made = beside(&own, d);
    _FortranARandomNumber(&own, file, line);
    copy(array_of(d), made);
    free(made.base);
}

API void llgrad_Etime(const Descriptor *values, const Descriptor *time, const char *file, int line)
{
    Descriptor own, its;
    Array made = beside(&own, values), total = beside(&its, time);
    _FortranAEtime(&own, &its, file, line);
    copy(array_of(values), made);
    copy(array_of(time), total);
    free(made.base), free(total.base);
}

/* exp(x * x) * erfc(x), where the factors are too large and too small, too. */
#define ERFC_SCALED(name, type)                                                \
    API type name(type given)                                                  \
    {                                                                          \
        double x = given, square = x * x, rest = fma(x, x, -square), sum = 0;  \
        if (x < 10) return exp(square) * (1 + rest) * erfc(x);                 \
        for (int n = 15; n > 0; n--) sum = (1 + sum) * -(2 * n - 1) / (2 * square); \
        return (1 + sum) / (x * 1.7724538509055160273);                        \
    }
ERFC_SCALED(_FortranAErfcScaled4, float)
ERFC_SCALED(_FortranAErfcScaled8, double)

/* --- arguments that must lie in one stretch ------------------------------------------------------------------------------- */

API _Bool _FortranAIsContiguous(const Descriptor *d)
{
    Array a = array_of(d), p = packed(a);
    return elements(a) < 2 || ((a.n0 < 2 || a.s0 == p.s0) && (a.n1 < 2 || a.s1 == p.s1) &&
                               (a.n2 < 2 || a.s2 == p.s2) && (a.n3 < 2 || a.s3 == p.s3));
}

API _Bool _FortranAIsAssumedSize(const Descriptor *d)
{
    int n = d->rank;
    return n > 0 && (n == 1 ? d->dim[0] : n == 2 ? d->dim[1] : n == 3 ? d->dim[2] : d->dim[n - 1]).extent == -1;
}

API void _FortranACopyInAssign(Descriptor *between, const Descriptor *from, const char *file, int line)
{
    give(between, from, in_one_stretch(array_of(from)));
}

API void _FortranACopyOutAssign(Descriptor *to, Descriptor *between, const char *file, int line)
{
    if (to) copy(array_of(to), array_of(between));
    free(between->base);
    between->base = 0;
}

/* --- integer powers of complex numbers -------------------------------------------------------------------------------------- */

#define POWER(name, type, count)                                               \
    API type name(type base, count n)                                          \
    {                                                                          \
        type r = 1;                                                            \
        for (count left = n < 0 ? -n : n; left; left >>= 1, base *= base)      \
            if (left & 1) r *= base;                                           \
        return n < 0 ? 1 / r : r;                                              \
    }
POWER(_FortranAcpowi, FloatComplex, int32_t)
POWER(_FortranAcpowk, FloatComplex, int64_t)
POWER(_FortranAzpowi, DoubleComplex, int32_t)
POWER(_FortranAzpowk, DoubleComplex, int64_t)
