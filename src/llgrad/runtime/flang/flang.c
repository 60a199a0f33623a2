/* Bodies of flang's runtime calls that may move active data, for arrays of numbers and logicals up to rank 4.
 *
 * They are inlined and index descriptors by constants only, so that LLVM takes descriptors apart into scalars and all
 * that depends on types and ranks folds. What they cannot do goes to flang's own runtime, which sees copies of the
 * descriptors. Names, arguments and descriptors are those of flang 19 to 22 (ISO_Fortran_binding.h, Runtime/assign.h, …). */
#include "flang.h"

extern void _FortranAAssignTemporary(Descriptor *to, const Descriptor *from, const char *file, int line);

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

/* Allocatable text takes the length of what it is assigned, other text is cut off, or filled with blanks. */
INSIDE void assign_text(Descriptor *to, const Descriptor *from)
{
    int rank = from->rank ? from->rank : to->rank;
    Array a = known(to, rank, TYPE_TEXT, to->bytes), b = known(from, from->rank, TYPE_TEXT, from->bytes);
    Array old = a;
    if (to->attribute == ALLOCATABLE && (!a.base || a.bytes != b.bytes || (from->rank && !same_shape(a, b)))) {
        if (from->rank || !a.base) a = b, a.rank = rank;
        a.bytes = b.bytes;
        a = allocated(a);
        set_known(to, a, from->rank ? from->dim[0].lower : 1);
        to->bytes = a.bytes;
    }
    int64_t most = a.bytes < b.bytes ? a.bytes : b.bytes;
    char *between = 0;
    if (rank && old.base == a.base && first_byte(a) < end(b) && first_byte(b) < end(a)) { /* they overlap */
        Array apart = allocated(b);
        EACH(b) __builtin_memcpy(AT(apart, i, j, k, l), AT(b, i, j, k, l), b.bytes);
        between = apart.base, b = apart;
    }
    EACH(a)
    {
        __builtin_memmove(AT(a, i, j, k, l), AT(b, i, j, k, l), most);
        for (int64_t n = most; n < a.bytes; n++) AT(a, i, j, k, l)[n] = ' ';
    }
    free(between);
    if (old.base != a.base) free(old.base);
}

API void _FortranAAssign(Descriptor *to, const Descriptor *from, const char *file, int line)
{
    if (from->type == TYPE_TEXT && to->rank <= RANKS) {
        assign_text(to, from);
        return;
    }
    if (!simple(from) || (!from->rank && to->rank > RANKS)) {
        assign_otherwise(to, from, file, line);
        return;
    }
    Array a = known(to, from->rank ? from->rank : to->rank, from->type, from->bytes), b = array_of(from);
    char *old = 0;
    if (to->attribute == ALLOCATABLE && (!a.base || (from->rank && !same_shape(a, b)))) {
        old = a.base;
        a.n0 = b.n0, a.n1 = b.n1, a.n2 = b.n2, a.n3 = b.n3;
        a = allocated(a);
        set_known(to, a, from->rank ? from->dim[0].lower : 1);
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

/* The descriptor of a dummy of any rank: lower bounds as they are, or 1, or 0. */
API void _FortranACopyAndUpdateDescriptor(Descriptor *to, const Descriptor *from, const void *type, int8_t attribute, int lower)
{
    to->base = from->base, to->bytes = from->bytes, to->version = from->version, to->rank = from->rank;
    to->type = from->type, to->attribute = attribute, to->extra = from->extra;
#define TAKEN(n)                                                               \
    if (n < from->rank) {                                                      \
        to->dim[n] = from->dim[n];                                             \
        if (lower) to->dim[n].lower = lower == 1;                    \
    }
    DIMENSIONS(TAKEN)
    if (from->extra & HAS_ADDENDUM) {
        const int64_t *its = (const int64_t *)(from->dim + from->rank);
        int64_t *own = (int64_t *)(to->dim + from->rank);
        *(const void **)own = type ? type : *(const void *const *)its;
        own[1] = its[1];
    }
}

API void _FortranAInitArrayConstructorVector(Constructor *c, Descriptor *to, _Bool lengths, const char *file, int line)
{
    c->to = to;
    c->next = 0;
    c->room = to->base ? to->dim[0].extent : 0;
}

INSIDE void push(Constructor *c, Array b)
{
    Descriptor *to = c->to;
    Array a = array_of(to);
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

API void _FortranAPushArrayConstructorValue(Constructor *c, const Descriptor *from)
{
    owns_nothing(from);
    push(c, array_of(from));
}

API void _FortranAPushArrayConstructorSimpleScalar(Constructor *c, char *from)
{
    push(c, (Array){from, c->to->bytes, 1, 1, 1, 1, 0, 0, 0, 0, c->to->type, 0});
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

/* A float's exponent and the rest of it. */
#define PARTS(kind, type, frexp, ldexp, fabs, digits, least)                   \
    API type _FortranAFraction##kind(type x)                                   \
    {                                                                          \
        int e;                                                                 \
        return frexp(x, &e);                                                   \
    }                                                                          \
    API int32_t _FortranAExponent##kind##_4(type x)                            \
    {                                                                          \
        int e;                                                                 \
        frexp(x, &e);                                                          \
        return isfinite(x) ? e : INT32_MAX;                                    \
    }                                                                          \
    API type _FortranAScale##kind(type x, int64_t n)                           \
    {                                                                          \
        return ldexp(x, n < -9999 ? -9999 : n > 9999 ? 9999 : n);              \
    }                                                                          \
    API type _FortranASetExponent##kind(type x, int64_t n)                     \
    {                                                                          \
        return _FortranAScale##kind(_FortranAFraction##kind(x), n);            \
    }                                                                          \
    API type _FortranASpacing##kind(type x)                                    \
    {                                                                          \
        type s = ldexp(1, _FortranAExponent##kind##_4(x) - digits);            \
        return x == 0 || s < least ? least : s;                                \
    }                                                                          \
    API type _FortranARRSpacing##kind(type x)                                  \
    {                                                                          \
        return fabs(_FortranAScale##kind(_FortranAFraction##kind(x), digits)); \
    }
PARTS(4, float, frexpf, ldexpf, fabsf, 24, 0x1p-126f)
PARTS(8, double, frexp, ldexp, fabs, 53, 0x1p-1022)
