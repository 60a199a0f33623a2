/* Bodies of flang's runtime calls that may move active data, for arrays of numbers and logicals up to rank 4.
 *
 * They are inlined and index descriptors by constants only, so that LLVM takes descriptors apart into scalars and all
 * that depends on types and ranks folds. What they cannot do goes to flang's own runtime, which sees copies of the
 * descriptors. Names, arguments and descriptors are those of flang 19 to 22 (ISO_Fortran_binding.h, Runtime/assign.h, …). */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct { int64_t lower, extent, stride; } Dimension;
typedef struct {
    char *base;
    uint64_t bytes;
    int32_t version;
    uint8_t rank;
    int8_t type;
    uint8_t attribute, extra;
    Dimension dim[17]; /* as many as `rank`, then an addendum of two */
} Descriptor;

/* An array: what is known of it in scalars. Dimensions that it does not have are of extent 1. */
typedef struct {
    char *base;
    int64_t bytes, n0, n1, n2, n3, s0, s1, s2, s3;
    int type, rank;
} Array;

enum { ALLOCATABLE = 2, HAS_ADDENDUM = 1, RANKS = 4 };
enum { TYPE_FLOAT = 27, TYPE_DOUBLE = 28, TYPE_FLOAT_COMPLEX = 34, TYPE_DOUBLE_COMPLEX = 35 };

#define API __attribute__((always_inline))
#define INSIDE static inline __attribute__((always_inline))

extern void _FortranAAssignTemporary(Descriptor *to, const Descriptor *from, const char *file, int line);

INSIDE Array array_of(const Descriptor *d)
{
    Array a = {d->base, d->bytes, 1, 1, 1, 1, 0, 0, 0, 0, d->type, d->rank};
    if (d->rank > 0) a.n0 = d->dim[0].extent, a.s0 = d->dim[0].stride;
    if (d->rank > 1) a.n1 = d->dim[1].extent, a.s1 = d->dim[1].stride;
    if (d->rank > 2) a.n2 = d->dim[2].extent, a.s2 = d->dim[2].stride;
    if (d->rank > 3) a.n3 = d->dim[3].extent, a.s3 = d->dim[3].stride;
    return a;
}

INSIDE void set(Descriptor *d, Array a, Dimension lower)
{
    d->base = a.base;
    if (d->rank > 0) d->dim[0] = (Dimension){lower.lower, a.n0, a.s0};
    if (d->rank > 1) d->dim[1] = (Dimension){1, a.n1, a.s1};
    if (d->rank > 2) d->dim[2] = (Dimension){1, a.n2, a.s2};
    if (d->rank > 3) d->dim[3] = (Dimension){1, a.n3, a.s3};
}

INSIDE int64_t elements(Array a) { return a.n0 * a.n1 * a.n2 * a.n3; }

/* An array of this shape in one stretch, without memory yet. */
INSIDE Array packed(Array like)
{
    like.s0 = like.bytes;
    like.s1 = like.s0 * like.n0;
    like.s2 = like.s1 * like.n1;
    like.s3 = like.s2 * like.n2;
    return like;
}

INSIDE Array allocated(Array like)
{
    Array a = packed(like);
    int64_t bytes = a.bytes * elements(a);
    a.base = malloc(bytes > 0 ? bytes : 1);
    return a;
}

#define AT(a, i, j, k, l) ((a).base + (i) * (a).s0 + (j) * (a).s1 + (k) * (a).s2 + (l) * (a).s3)
#define EACH(a)                                                                \
    for (int64_t l = 0; l < (a).n3; l++)                                       \
        for (int64_t k = 0; k < (a).n2; k++)                                   \
            for (int64_t j = 0; j < (a).n1; j++)                               \
                for (int64_t i = 0; i < (a).n0; i++)
#define ROWS(to, ...)                                                          \
    if ((to).rank < 2) {                                                       \
        const int64_t l = 0, k = 0, j = 0;                                     \
        for (int64_t i = 0; i < (to).n0; i++) __VA_ARGS__                      \
    } else if ((to).rank == 2) {                                               \
        const int64_t l = 0, k = 0;                                            \
        for (int64_t j = 0; j < (to).n1; j++)                                  \
            for (int64_t i = 0; i < (to).n0; i++) __VA_ARGS__                  \
    } else {                                                                   \
        EACH(to) __VA_ARGS__                                                   \
    }
#define COPY(type) ROWS(to, { *(type *)AT(to, i, j, k, l) = *(const type *)AT(from, i, j, k, l); })
#define COPY_PARTS(type, parts)                                                \
    ROWS(to, {                                                                 \
        type *a = (type *)AT(to, i, j, k, l);                                  \
        const type *b = (const type *)AT(from, i, j, k, l);                    \
        for (int64_t p = 0; p < parts; p++) a[p] = b[p];                       \
    })

/* Copy elements; the extents are those of `to`, a scalar `from` has strides 0. */
INSIDE void copy(Array to, Array from)
{
    if (to.type == TYPE_DOUBLE) { COPY(double) }
    else if (to.type == TYPE_FLOAT) { COPY(float) }
    else if (to.type == TYPE_DOUBLE_COMPLEX) { COPY_PARTS(double, 2) }
    else if (to.type == TYPE_FLOAT_COMPLEX) { COPY_PARTS(float, 2) }
    else { COPY_PARTS(int8_t, to.bytes) }
}

INSIDE int simple(const Descriptor *d)
{
    int real = d->type == TYPE_FLOAT || d->type == TYPE_DOUBLE;
    int complex = d->type == TYPE_FLOAT_COMPLEX || d->type == TYPE_DOUBLE_COMPLEX;
    int word = d->bytes == 1 || d->bytes == 2 || d->bytes == 4 || d->bytes == 8;
    int integer = d->type >= 1 && d->type < TYPE_FLOAT && word;
    return (real || complex || integer) && !(d->extra & HAS_ADDENDUM) && d->rank <= RANKS;
}

INSIDE int same_shape(Array a, Array b) { return a.n0 == b.n0 && a.n1 == b.n1 && a.n2 == b.n2 && a.n3 == b.n3; }

#define LOW(a, x) ((a.n##x - 1) * a.s##x < 0 ? (a.n##x - 1) * a.s##x : 0)
#define HIGH(a, x) ((a.n##x - 1) * a.s##x > 0 ? (a.n##x - 1) * a.s##x : 0)
INSIDE intptr_t first_byte(Array a) { return (intptr_t)a.base + LOW(a, 0) + LOW(a, 1) + LOW(a, 2) + LOW(a, 3); }
INSIDE intptr_t end(Array a) { return (intptr_t)a.base + HIGH(a, 0) + HIGH(a, 1) + HIGH(a, 2) + HIGH(a, 3) + a.bytes; }

INSIDE void assign_otherwise(Descriptor *to, const Descriptor *from, const char *file, int line)
{
    Descriptor target, source;
    int its = to->rank + (to->extra & HAS_ADDENDUM ? 2 : 0), others = from->rank + (from->extra & HAS_ADDENDUM ? 2 : 0);
    target.base = to->base, target.bytes = to->bytes, target.version = to->version, target.rank = to->rank;
    target.type = to->type, target.attribute = to->attribute, target.extra = to->extra;
    source.base = from->base, source.bytes = from->bytes, source.version = from->version, source.rank = from->rank;
    source.type = from->type, source.attribute = from->attribute, source.extra = from->extra;
#define DIMENSIONS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define THERE(n)                                                               \
    if (n < its) target.dim[n] = to->dim[n];                                   \
    if (n < others) source.dim[n] = from->dim[n];
    DIMENSIONS(THERE)
    _FortranAAssignTemporary(&target, &source, file, line);
    to->base = target.base;
#define BACK(n) if (n < to->rank) to->dim[n] = target.dim[n];
    DIMENSIONS(BACK)
}

API void _FortranAAssign(Descriptor *to, const Descriptor *from, const char *file, int line)
{
    if (!simple(to) || to->type != from->type || to->bytes != from->bytes || (from->rank && from->rank != to->rank)) {
        assign_otherwise(to, from, file, line);
        return;
    }
    Array a = array_of(to), b = array_of(from);
    Dimension lower = {from->rank ? from->dim[0].lower : 1, 0, 0};
    char *old = 0;
    if (to->attribute == ALLOCATABLE && (!a.base || (from->rank && !same_shape(a, b)))) {
        old = a.base;
        a.n0 = b.n0, a.n1 = b.n1, a.n2 = b.n2, a.n3 = b.n3;
        a = allocated(a);
        set(to, a, lower);
    }
    if (first_byte(a) < end(b) && first_byte(b) < end(a)) { /* they overlap */
        Array between = allocated(a);
        copy(between, b);
        copy(a, between);
        free(between.base);
    } else {
        copy(a, b);
    }
    free(old);
}

/* A vector whose allocation is described by `d`: what the constructor and `pack` give. */
INSIDE void describe(Descriptor *d, const Descriptor *like, int rank)
{
    d->bytes = like->bytes, d->version = like->version, d->rank = rank, d->type = like->type;
    d->attribute = ALLOCATABLE, d->extra = 0;
}

INSIDE Array vector(Array like, int64_t count)
{
    like.n0 = count, like.n1 = like.n2 = like.n3 = 1, like.rank = 1;
    return packed(like);
}

/* `[y, 2*y]`: values are pushed one after another behind what the descriptor `to` holds. */
typedef struct {
    Descriptor *to;
    int64_t next, room;
} Constructor;

API void _FortranAInitArrayConstructorVector(Constructor *c, Descriptor *to, _Bool lengths, const char *file, int line)
{
    c->to = to;
    c->next = 0;
    c->room = to->base ? to->dim[0].extent : 0;
}

API void _FortranAPushArrayConstructorValue(Constructor *c, const Descriptor *from)
{
    Descriptor *to = c->to;
    Array a = array_of(to), b = array_of(from);
    int64_t used = c->next, needed = used + elements(b);
    if (needed > c->room || !a.base) {
        int64_t room = !a.base && a.n0 > needed ? a.n0 : needed;
        Array larger = allocated(vector(a, room)), part = vector(larger, used);
        if (a.base) {
            copy(part, vector(a, used));
            free(a.base);
        }
        a = larger;
        c->room = room;
    }
    a.n0 = a.n0 < needed ? needed : a.n0;
    set(to, a, (Dimension){1, 0, 0});
    Array place = packed(b);
    place.base = a.base + used * a.bytes;
    copy(place, b);
    c->next = needed;
}

INSIDE int holds(int64_t bytes, const char *at)
{
    if (bytes == 1) return *(const int8_t *)at != 0;
    if (bytes == 2) return *(const int16_t *)at != 0;
    if (bytes == 8) return *(const int64_t *)at != 0;
    return *(const int32_t *)at != 0;
}

/* The elements of `from` where `mask` holds, then what `filler` has more. */
API void _FortranAPack(Descriptor *result, const Descriptor *from, const Descriptor *mask, const Descriptor *filler,
                       const char *file, int line)
{
    Array a = array_of(from), m = array_of(mask);
    int64_t count = 0, least = filler ? filler->dim[0].extent : 0;
    ROWS(a, { count += holds(m.bytes, AT(m, i, j, k, l)); })
    Array r = allocated(vector(a, count > least ? count : least));
    Array to = vector(r, 1), one = vector(a, 1);
    ROWS(a, {
        one.base = AT(a, i, j, k, l);
        if (holds(m.bytes, AT(m, i, j, k, l))) {
            copy(to, one);
            to.base += a.bytes;
        }
    })
    for (int64_t i = count; i < least; i++) {
        one.base = filler->base + i * filler->dim[0].stride;
        copy(to, one);
        to.base += a.bytes;
    }
    describe(result, from, 1);
    set(result, r, (Dimension){1, 0, 0});
}

/* `count` copies of `from` along a new dimension. */
API void _FortranASpread(Descriptor *result, const Descriptor *from, int along, int64_t count, const char *file, int line)
{
    Array a = array_of(from), r = a, source = a;
    int64_t n = count > 0 ? count : 0;
    r.rank = source.rank = a.rank + 1;
    r.n3 = along == 4 ? n : along < 4 ? a.n2 : 1, source.s3 = along == 4 ? 0 : a.s2;
    r.n2 = along == 3 ? n : along < 3 ? a.n1 : a.n2, source.s2 = along == 3 ? 0 : along < 3 ? a.s1 : a.s2;
    r.n1 = along == 2 ? n : along < 2 ? a.n0 : a.n1, source.s1 = along == 2 ? 0 : along < 2 ? a.s0 : a.s1;
    r.n0 = along == 1 ? n : a.n0, source.s0 = along == 1 ? 0 : a.s0;
    r = allocated(r);
    copy(r, source);
    describe(result, from, from->rank + 1);
    set(result, r, (Dimension){1, 0, 0});
}

#define NORM(name, type, root)                                                 \
    API type name(const Descriptor *x, const char *file, int line, int dim)    \
    {                                                                          \
        Array a = array_of(x);                                                 \
        type sum = 0;                                                          \
        ROWS(a, {                                                              \
            type v = *(const type *)AT(a, i, j, k, l);                         \
            sum += v * v;                                                      \
        })                                                                     \
        return root(sum);                                                      \
    }
NORM(_FortranANorm2_4, float, sqrtf)
NORM(_FortranANorm2_8, double, sqrt)

API float _FortranAModReal4(float x, float y, const char *file, int line) { return fmodf(x, y); }
API double _FortranAModReal8(double x, double y, const char *file, int line) { return fmod(x, y); }

API float _FortranAModuloReal4(float x, float y, const char *file, int line)
{
    float r = fmodf(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

API double _FortranAModuloReal8(double x, double y, const char *file, int line)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
