/* What bodies of flang's runtime calls share: descriptors of arrays, and arrays as scalars. Names and layout are those of
 * flang 19 to 22 (ISO_Fortran_binding.h). */
#pragma once
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

/* `[y, 2*y]`: values are pushed one after another behind what the descriptor `to` holds. */
typedef struct {
    Descriptor *to;
    int64_t next, room;
} Constructor;

/* An array: what is known of it in scalars. Dimensions that it does not have are of extent 1. */
typedef struct {
    char *base;
    int64_t bytes, n0, n1, n2, n3, s0, s1, s2, s3;
    int type, rank;
} Array;

/* The type of an object, and the number of the one that is declared (0: not known), which it is or extends. */
typedef struct {
    const void *is;
    int among;
} Type;

enum { ALLOCATABLE = 2, HAS_ADDENDUM = 1, RANKS = 4 };
enum { TYPE_FLOAT = 27, TYPE_DOUBLE = 28, TYPE_FLOAT_COMPLEX = 34, TYPE_DOUBLE_COMPLEX = 35, TYPE_TEXT = 40, TYPE_DERIVED = 42, TYPE_NONE = -1 };

#define API __attribute__((always_inline))
#define INSIDE static inline __attribute__((always_inline))

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

/* The array of a descriptor whose rank, and type of elements, are known. */
INSIDE Array known(const Descriptor *d, int rank, int type, int64_t bytes)
{
    Array a = {d->base, bytes, 1, 1, 1, 1, 0, 0, 0, 0, type, rank};
    if (rank > 0) a.n0 = d->dim[0].extent, a.s0 = d->dim[0].stride;
    if (rank > 1) a.n1 = d->dim[1].extent, a.s1 = d->dim[1].stride;
    if (rank > 2) a.n2 = d->dim[2].extent, a.s2 = d->dim[2].stride;
    if (rank > 3) a.n3 = d->dim[3].extent, a.s3 = d->dim[3].stride;
    return a;
}

INSIDE void set_known(Descriptor *d, Array a, int64_t lower)
{
    d->base = a.base;
    if (a.rank > 0) d->dim[0] = (Dimension){lower, a.n0, a.s0};
    if (a.rank > 1) d->dim[1] = (Dimension){1, a.n1, a.s1};
    if (a.rank > 2) d->dim[2] = (Dimension){1, a.n2, a.s2};
    if (a.rank > 3) d->dim[3] = (Dimension){1, a.n3, a.s3};
}

/* The memory of an array whose bounds are there. */
INSIDE void set_strides(Descriptor *d, Array a)
{
    d->base = a.base;
    if (a.rank > 0) d->dim[0].stride = a.s0;
    if (a.rank > 1) d->dim[1].stride = a.s1;
    if (a.rank > 2) d->dim[2].stride = a.s2;
    if (a.rank > 3) d->dim[3].stride = a.s3;
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

/* The two parts of complex numbers, one by one: a loop over them would become a `memcpy`, and where strides are not known
 * kinds say less of that than of a float that is moved. */
#define COPY_PAIRS(type)                                                       \
    ROWS(to, {                                                                 \
        type *a = (type *)AT(to, i, j, k, l);                                  \
        const type *b = (const type *)AT(from, i, j, k, l);                    \
        type first = b[0], second = b[1];                                      \
        a[0] = first, a[1] = second;                                           \
    })

/* Copy elements; the extents are those of `to`, a scalar `from` has strides 0. */
INSIDE void copy(Array to, Array from)
{
    if (to.type == TYPE_DOUBLE) { COPY(double) }
    else if (to.type == TYPE_FLOAT) { COPY(float) }
    else if (to.type == TYPE_DOUBLE_COMPLEX) { COPY_PAIRS(double) }
    else if (to.type == TYPE_FLOAT_COMPLEX) { COPY_PAIRS(float) }
    else if (to.type == TYPE_DERIVED) { ROWS(to, { __builtin_memcpy(AT(to, i, j, k, l), AT(from, i, j, k, l), to.bytes); }) }
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

extern _Noreturn void llgrad_fail(int code, const void *detail);

/* A copy of the bytes of an object that owns memory would make two owners: it fails where that is asked for. */
INSIDE void owns_nothing(const Descriptor *d)
{
    enum { NEEDS_NO_DESTRUCTION = 430 }; /* where flang's description of a type says so */
    if (d->extra & HAS_ADDENDUM) {
        const char *type = *(const char *const *)((const char *)d + 24 + 24 * d->rank);
        if (type && !type[NEEDS_NO_DESTRUCTION]) llgrad_fail(4, 0);
    }
}

INSIDE int same_shape(Array a, Array b) { return a.n0 == b.n0 && a.n1 == b.n1 && a.n2 == b.n2 && a.n3 == b.n3; }

#define LOW(a, x) ((a.n##x - 1) * a.s##x < 0 ? (a.n##x - 1) * a.s##x : 0)
#define HIGH(a, x) ((a.n##x - 1) * a.s##x > 0 ? (a.n##x - 1) * a.s##x : 0)
INSIDE intptr_t first_byte(Array a) { return (intptr_t)a.base + LOW(a, 0) + LOW(a, 1) + LOW(a, 2) + LOW(a, 3); }
INSIDE intptr_t end(Array a) { return (intptr_t)a.base + HIGH(a, 0) + HIGH(a, 1) + HIGH(a, 2) + HIGH(a, 3) + a.bytes; }

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

INSIDE int holds(int64_t bytes, const char *at)
{
    if (bytes == 1) return *(const int8_t *)at != 0;
    if (bytes == 2) return *(const int16_t *)at != 0;
    if (bytes == 8) return *(const int64_t *)at != 0;
    return *(const int32_t *)at != 0;
}
