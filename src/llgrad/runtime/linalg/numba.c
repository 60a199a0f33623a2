/* Bodies of Numba's runtime: reference-counted memory, and the calls of BLAS behind np.dot, `@` and np.vdot.
 * Memory is two blocks, header and data; the counts are not atomic, for what a derivative allocates is its thread's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t count;
    char *data;
    int64_t bytes;
} Memory;

#define API __attribute__((always_inline))

API Memory *NRT_MemInfo_alloc_aligned(int64_t bytes, int32_t alignment)
{
    Memory *m = malloc(sizeof *m);
    m->count = 1;
    m->data = malloc(bytes > 0 ? bytes : 1);
    m->bytes = bytes;
    return m;
}

API Memory *NRT_MemInfo_alloc_safe_aligned(int64_t bytes, int32_t alignment)
{
    return NRT_MemInfo_alloc_aligned(bytes, alignment);
}

API Memory *NRT_MemInfo_alloc_safe(int64_t bytes) { return NRT_MemInfo_alloc_aligned(bytes, 16); }
API Memory *NRT_MemInfo_alloc(int64_t bytes) { return NRT_MemInfo_alloc_aligned(bytes, 16); }
API char *NRT_MemInfo_data_fast(Memory *m) { return m->data; }
API char *NRT_MemInfo_data(Memory *m) { return m->data; }

API void NRT_incref(Memory *m)
{
    if (m)
        m->count++;
}

API void NRT_decref(Memory *m)
{
    if (m && --m->count == 0) {
        free(m->data);
        free(m);
    }
}

/* What owns other memory lets that go first. */
API void llgrad_numba_release(Memory *m, void (*destructor)(void *))
{
    if (m && --m->count == 0) {
        destructor(m->data);
        free(m->data);
        free(m);
    }
}

API void llgrad_numba_release_object(Memory *m, void (*destructor)(void *, int64_t, void *))
{
    if (m && --m->count == 0) {
        destructor(m->data, m->bytes, 0);
        free(m->data);
        free(m);
    }
}

/* The destructor is called by what releases the memory, which knows the type. */
API Memory *NRT_MemInfo_new_varsize(int64_t bytes) { return NRT_MemInfo_alloc_aligned(bytes, 16); }
API Memory *NRT_MemInfo_new_varsize_dtor(int64_t bytes, void *destructor) { return NRT_MemInfo_alloc_aligned(bytes, 16); }
API Memory *NRT_MemInfo_alloc_dtor_safe(int64_t bytes, void *destructor) { return NRT_MemInfo_alloc_aligned(bytes, 16); }
API Memory *NRT_MemInfo_alloc_dtor(int64_t bytes, void *destructor) { return NRT_MemInfo_alloc_aligned(bytes, 16); }

API void *NRT_MemInfo_varsize_alloc(Memory *m, int64_t bytes)
{
    m->data = malloc(bytes > 0 ? bytes : 1);
    m->bytes = bytes;
    return m->data;
}

/* New memory for a list that grows: how many, room for how many, was it changed. Its elements are moved by code that
 * knows their type, and frees the old memory then. */
API char *llgrad_numba_grow(Memory *m, int64_t bytes)
{
    char *old = m->data, *made = malloc(bytes);
    ((int64_t *)made)[0] = ((int64_t *)old)[0];
    ((int64_t *)made)[1] = ((int64_t *)old)[1];
    made[16] = old[16] != 0;
    m->data = made;
    m->bytes = bytes;
    return made;
}

/* Typed lists. Their elements are read and written by code that knows the type. */
typedef struct {
    int64_t size, allocated;
    char *items;
} List;

API int32_t numba_list_new(List **made, int64_t item, int64_t allocated)
{
    List *l = *made = malloc(sizeof *l);
    l->size = 0;
    l->allocated = allocated;
    l->items = allocated > 0 ? malloc(allocated * item) : 0;
    return 0;
}

API char *llgrad_numba_list_grow(List *l, int64_t item)
{
    int64_t more = l->allocated > 0 ? 2 * l->allocated : 4;
    l->allocated = more;
    return l->items = malloc(more * item);
}

API void numba_list_free(List *l)
{
    free(l->items);
    free(l);
}

API void numba_list_set_method_table(List *l, void *methods) {}
API char *numba_list_base_ptr(List *l) { return l->items; }
API int64_t numba_list_size_address(List *l) { return (int64_t)&l->size; }
API int64_t numba_list_length(List *l) { return l->size; }
API void llgrad_numba_list_set_size(List *l, int64_t size) { l->size = size; }
API int64_t numba_list_allocated(List *l) { return l->allocated; }
API int32_t numba_list_is_mutable(List *l) { return 1; }

/* Dictionaries: entries in the order they came in, `hashes[n]` is that of entry n, or -1 if it was taken out. The table
 * has at a place after that of a hash 1 + the number of its entry; 0 ends a row of such, -1 is the place of none. */
typedef struct {
    int64_t length, used, room, size, filled;
    int64_t *table, *hashes;
    char *entries;
} Dictionary;

API Dictionary *llgrad_numba_dict_new(void)
{
    Dictionary *d = malloc(sizeof *d);
    d->length = d->used = d->room = d->size = d->filled = 0;
    d->table = d->hashes = 0;
    d->entries = 0;
    return d;
}

static int64_t dict_place(int64_t size, int64_t hash)
{
    return (int64_t)((uint64_t)hash * 0x9E3779B97F4A7C15u >> 20) & (size - 1);
}

/* The entry with this hash that follows another, or -1: the first after -1. */
__attribute__((noinline)) int64_t llgrad_numba_dict_next(const Dictionary *d, int64_t hash, int64_t after)
{
    int past = after < 0;
    if (!d->size)
        return -1;
    for (int64_t at = dict_place(d->size, hash);; at = (at + 1) & (d->size - 1)) {
        int64_t entry = d->table[at] - 1;
        if (entry == -1)
            return -1;
        if (entry >= 0 && d->hashes[entry] == hash) {
            if (past)
                return entry;
            past = entry == after;
        }
    }
}

static void dict_enter(int64_t *table, int64_t size, int64_t hash, int64_t entry)
{
    int64_t at = dict_place(size, hash);
    while (table[at] != 0)
        at = (at + 1) & (size - 1);
    table[at] = entry + 1;
}

/* A new entry, for which there is room. */
__attribute__((noinline)) int64_t llgrad_numba_dict_add(Dictionary *d, int64_t hash)
{
    if (2 * (d->filled + 1) > d->size) {
        d->size = 8;
        while (d->size < 4 * (d->length + 1))
            d->size *= 2;
        free(d->table);
        d->table = calloc(d->size, sizeof *d->table);
        for (int64_t n = 0; n < d->used; n++)
            if (d->hashes[n] != -1)
                dict_enter(d->table, d->size, d->hashes[n], n);
        d->filled = d->length;
    }
    dict_enter(d->table, d->size, hash, d->used);
    d->hashes[d->used] = hash;
    d->filled++;
    d->length++;
    return d->used++;
}

/* Room for more entries; the old ones are moved by code that knows their type, and frees the old memory then. */
API char *llgrad_numba_dict_grow(Dictionary *d, int64_t item)
{
    int64_t room = d->room > 0 ? 2 * d->room : 8, *hashes = malloc(room * sizeof *hashes);
    for (int64_t n = 0; n < d->used; n++)
        hashes[n] = d->hashes[n];
    free(d->hashes);
    d->hashes = hashes;
    d->room = room;
    return d->entries = malloc(room * item);
}

__attribute__((noinline)) void llgrad_numba_dict_remove(Dictionary *d, int64_t entry)
{
    int64_t at = dict_place(d->size, d->hashes[entry]);
    while (d->table[at] != entry + 1)
        at = (at + 1) & (d->size - 1);
    d->table[at] = -1;
    d->hashes[entry] = -1;
    d->length--;
}

API int64_t llgrad_numba_dict_has(const Dictionary *d, int64_t n) { return d->hashes[n] != -1; }
API int64_t llgrad_numba_dict_used(const Dictionary *d) { return d->used; }
API int64_t llgrad_numba_dict_room(const Dictionary *d) { return d->room; }
API char *llgrad_numba_dict_entries(const Dictionary *d) { return d->entries; }
API int64_t numba_dict_length(const Dictionary *d) { return d->length; }

API int64_t llgrad_numba_dict_last(const Dictionary *d)
{
    int64_t n = d->used - 1;
    while (n >= 0 && d->hashes[n] == -1)
        n--;
    return n;
}

API void llgrad_numba_dict_free(Dictionary *d)
{
    free(d->table);
    free(d->hashes);
    free(d->entries);
    free(d);
}

/* What Numba's own destructor calls, which nobody runs. */
API void numba_dict_free(Dictionary *d) { llgrad_numba_dict_free(d); }

typedef struct {
    const Dictionary *dictionary;
    int64_t next;
} Iterator;

API void numba_dict_iter(Iterator *i, const Dictionary *d)
{
    i->dictionary = d;
    i->next = 0;
}

API int64_t llgrad_numba_dict_iter_next(Iterator *i)
{
    const Dictionary *d = i->dictionary;
    while (i->next < d->used && d->hashes[i->next] == -1)
        i->next++;
    return i->next < d->used ? i->next++ : -1;
}

/* What hashes of text begin with: any number does, for no dictionary of Python's is looked into. */
const uint64_t _numba_hashsecret_siphash_k0 = 0, _numba_hashsecret_siphash_k1 = 0, _numba_hashsecret_djbx33a_suffix = 0;

API void NRT_MemInfo_varsize_free(Memory *m, void *p)
{
    free(p);
    if (p == m->data)
        m->data = 0;
}

API void *NRT_Allocate(int64_t bytes) { return malloc(bytes > 0 ? bytes : 1); }
API void NRT_Free(void *p) { free(p); }
API void numba_gil_ensure(int32_t *state) {}
API void numba_gil_release(int32_t *state) {}

/* Strides of a reshaped array, if it lies in one stretch in C's order; else it is said to need a copy. */
API int32_t numba_attempt_nocopy_reshape(int64_t rank, const int64_t *shape, const int64_t *strides, int64_t new_rank,
                                         const int64_t *new_shape, int64_t *new_strides, int64_t bytes, int32_t fortran)
{
    int64_t expected = bytes, next = bytes;
    if (fortran)
        return 0;
    for (int64_t n = rank - 1; n >= 0; n--) {
        if (shape[n] != 1 && strides[n] != expected)
            return 0;
        expected *= shape[n];
    }
    for (int64_t n = new_rank - 1; n >= 0; n--) {
        new_strides[n] = next;
        next *= new_shape[n];
    }
    return 1;
}

/* Numba gives up the whole process where a call of BLAS returns an error: all kinds have loops here. */
#pragma STDC CX_LIMITED_RANGE ON
#define ITSELF(a) (a)
#define DOT(type, conjugate)                                                   \
    {                                                                          \
        const type *a = x, *b = y;                                             \
        type sum = 0;                                                          \
        for (int64_t i = 0; i < n; i++)                                        \
            sum += (conjugated ? conjugate(a[i]) : a[i]) * b[i];               \
        *(type *)out = sum;                                                    \
    }
API int32_t numba_xxdot(int8_t kind, int8_t conjugated, int64_t n, const void *x, const void *y, void *out)
{
    if (kind == 'd') DOT(double, ITSELF)
    else if (kind == 's') DOT(float, ITSELF)
    else if (kind == 'z') DOT(double _Complex, __builtin_conj)
    else if (kind == 'c') DOT(float _Complex, __builtin_conjf)
    else return -1;
    return 0;
}

/* Numba asks for no conjugates of matrices. */
#define IS_TRANSPOSED(how) ((how) != 'n' && (how) != 'N')

/* y = alpha op(A) x + beta y; A is m by n, column by column */
#define GEMV(type)                                                             \
    {                                                                          \
        const type *a = A, *v = x;                                             \
        type *w = y, p = *(const type *)alpha, q = *(const type *)beta;        \
        int64_t rows = IS_TRANSPOSED(transposed) ? n : m, columns = IS_TRANSPOSED(transposed) ? m : n; \
        for (int64_t i = 0; i < rows; i++) {                                   \
            type sum = 0;                                                      \
            for (int64_t j = 0; j < columns; j++)                              \
                sum += (IS_TRANSPOSED(transposed) ? a[j + i * lda] : a[i + j * lda]) * v[j]; \
            w[i] = q == 0 ? p * sum : p * sum + q * w[i];                      \
        }                                                                      \
    }
API int32_t numba_xxgemv(int8_t kind, int8_t transposed, int64_t m, int64_t n, const void *alpha, const void *A,
                         int64_t lda, const void *x, const void *beta, void *y)
{
    if (kind == 'd') GEMV(double)
    else if (kind == 's') GEMV(float)
    else if (kind == 'z') GEMV(double _Complex)
    else if (kind == 'c') GEMV(float _Complex)
    else return -1;
    return 0;
}

/* C = alpha op(A) op(B) + beta C; C is m by n, column by column */
#define GEMM(type)                                                             \
    {                                                                          \
        const type *a = A, *b = B;                                             \
        type *c = C, p = *(const type *)alpha, q = *(const type *)beta;        \
        for (int64_t j = 0; j < n; j++)                                        \
            for (int64_t i = 0; i < m; i++) {                                  \
                type sum = 0;                                                  \
                for (int64_t l = 0; l < k; l++)                                \
                    sum += (IS_TRANSPOSED(first) ? a[l + i * lda] : a[i + l * lda]) *  \
                           (IS_TRANSPOSED(second) ? b[j + l * ldb] : b[l + j * ldb]);  \
                c[i + j * ldc] = q == 0 ? p * sum : p * sum + q * c[i + j * ldc]; \
            }                                                                  \
    }
API int32_t numba_xxgemm(int8_t kind, int8_t first, int8_t second, int64_t m, int64_t n, int64_t k, const void *alpha,
                         const void *A, int64_t lda, const void *B, int64_t ldb, const void *beta, void *C, int64_t ldc)
{
    if (kind == 'd') GEMM(double)
    else if (kind == 's') GEMM(float)
    else if (kind == 'z') GEMM(double _Complex)
    else if (kind == 'c') GEMM(float _Complex)
    else return -1;
    return 0;
}

/* LAPACK, as np.linalg asks for it: matrices column by column; what is returned is LAPACK's `info`. */
#define A(i, j) a[(i) * rows + (j) * columns]
#define CHOLESKY(type, real, part, conjugate, root)                            \
    {                                                                          \
        type *a = matrix;                                                      \
        for (int64_t j = 0; j < n; j++) {                                      \
            real d = part(A(j, j));                                            \
            for (int64_t k = 0; k < j; k++)                                    \
                d -= part(A(j, k) * conjugate(A(j, k)));                       \
            if (!(d > 0))                                                      \
                return j + 1;                                                  \
            real l = root(d);                                                  \
            A(j, j) = l;                                                       \
            for (int64_t i = j + 1; i < n; i++) {                              \
                type s = A(i, j);                                              \
                for (int64_t k = 0; k < j; k++)                                \
                    s -= A(i, k) * conjugate(A(j, k));                         \
                A(i, j) = s / l;                                               \
            }                                                                  \
        }                                                                      \
    }
API int32_t numba_xxpotrf(int8_t kind, int8_t triangle, int64_t n, void *matrix, int64_t lda)
{
    int64_t rows = triangle == 'L' || triangle == 'l' ? 1 : lda, columns = rows == 1 ? lda : 1;
    if (kind == 'd') CHOLESKY(double, double, ITSELF, ITSELF, __builtin_sqrt)
    else if (kind == 's') CHOLESKY(float, float, ITSELF, ITSELF, __builtin_sqrtf)
    else if (kind == 'z') CHOLESKY(double _Complex, double, __builtin_creal, __builtin_conj, __builtin_sqrt)
    else if (kind == 'c') CHOLESKY(float _Complex, float, __builtin_crealf, __builtin_conjf, __builtin_sqrtf)
    else return -1;
    return 0;
}

/* Rows are exchanged for the largest pivot; `pivots` counts from 1. Of complex numbers LAPACK adds the parts' sizes. */
#define SIZE(a) (__builtin_fabs(__builtin_creal(a)) + __builtin_fabs(__builtin_cimag(a)))
#define FACTOR(type, absolute)                                                 \
    {                                                                          \
        type *a = matrix;                                                      \
        for (int64_t k = 0; k < (m < n ? m : n); k++) {                        \
            int64_t p = k;                                                     \
            for (int64_t i = k + 1; i < m; i++)                                \
                if (absolute(A(i, k)) > absolute(A(p, k)))                     \
                    p = i;                                                     \
            pivots[k] = p + 1;                                                 \
            if (A(p, k) == 0) {                                                \
                info = info ? info : k + 1;                                    \
                continue;                                                      \
            }                                                                  \
            if (p != k)                                                        \
                for (int64_t j = 0; j < n; j++) {                              \
                    type t = A(k, j);                                          \
                    A(k, j) = A(p, j);                                         \
                    A(p, j) = t;                                               \
                }                                                              \
            for (int64_t i = k + 1; i < m; i++) {                              \
                type f = A(i, k) / A(k, k);                                    \
                A(i, k) = f;                                                   \
                for (int64_t j = k + 1; j < n; j++)                            \
                    A(i, j) -= f * A(k, j);                                    \
            }                                                                  \
        }                                                                      \
    }
API int32_t numba_xxgetrf(int8_t kind, int64_t m, int64_t n, void *matrix, int64_t lda, int32_t *pivots)
{
    int64_t rows = 1, columns = lda;
    int32_t info = 0;
    if (kind == 'd') FACTOR(double, __builtin_fabs)
    else if (kind == 's') FACTOR(float, __builtin_fabsf)
    else if (kind == 'z') FACTOR(double _Complex, SIZE)
    else if (kind == 'c') FACTOR(float _Complex, SIZE)
    else return -1;
    return info;
}

/* One right-hand side of a system that is factored. */
#define SOLVE(type, b)                                                         \
    {                                                                          \
        for (int64_t k = 0; k < n; k++) {                                      \
            type t = b[k];                                                     \
            b[k] = b[pivots[k] - 1];                                           \
            b[pivots[k] - 1] = t;                                              \
        }                                                                      \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t k = 0; k < i; k++)                                    \
                b[i] -= A(i, k) * b[k];                                        \
        for (int64_t i = n - 1; i >= 0; i--) {                                 \
            for (int64_t k = i + 1; k < n; k++)                                \
                b[i] -= A(i, k) * b[k];                                        \
            b[i] /= A(i, i);                                                   \
        }                                                                      \
    }
#define SYSTEM(type)                                                           \
    {                                                                          \
        type *a = matrix, *right = rights;                                     \
        for (int64_t j = 0; j < count; j++) SOLVE(type, (right + j * ldb))     \
    }
API int32_t numba_xgesv(int8_t kind, int64_t n, int64_t count, void *matrix, int64_t lda, int32_t *pivots, void *rights,
                        int64_t ldb)
{
    int64_t rows = 1, columns = lda;
    int32_t info = numba_xxgetrf(kind, n, n, matrix, lda, pivots);
    if (info)
        return info;
    if (kind == 'd') SYSTEM(double)
    else if (kind == 's') SYSTEM(float)
    else if (kind == 'z') SYSTEM(double _Complex)
    else SYSTEM(float _Complex)
    return 0;
}

#define INVERSE(type)                                                          \
    {                                                                          \
        type *a = matrix, *made = calloc(n * n, sizeof *made);                 \
        for (int64_t j = 0; j < n; j++) {                                      \
            made[j + j * n] = 1;                                               \
            SOLVE(type, (made + j * n))                                        \
        }                                                                      \
        for (int64_t j = 0; j < n; j++)                                        \
            for (int64_t i = 0; i < n; i++)                                    \
                A(i, j) = made[i + j * n];                                     \
        free(made);                                                            \
    }
API int32_t numba_ez_xxgetri(int8_t kind, int64_t n, void *matrix, int64_t lda, int32_t *pivots)
{
    int64_t rows = 1, columns = lda;
    if (kind == 'd') INVERSE(double)
    else if (kind == 's') INVERSE(float)
    else if (kind == 'z') INVERSE(double _Complex)
    else if (kind == 'c') INVERSE(float _Complex)
    else return -1;
    return 0;
}

#define NORM(type, real, part, conjugate, root)                                \
    {                                                                          \
        const type *a = x;                                                     \
        real sum = 0;                                                          \
        for (int64_t i = 0; i < n; i++)                                        \
            sum += part(a[i * step] * conjugate(a[i * step]));                 \
        *(real *)out = root(sum);                                              \
    }
API int32_t numba_xxnrm2(int8_t kind, int64_t n, const void *x, int64_t step, void *out)
{
    if (kind == 'd') NORM(double, double, ITSELF, ITSELF, __builtin_sqrt)
    else if (kind == 's') NORM(float, float, ITSELF, ITSELF, __builtin_sqrtf)
    else if (kind == 'z') NORM(double _Complex, double, __builtin_creal, __builtin_conj, __builtin_sqrt)
    else if (kind == 'c') NORM(float _Complex, float, __builtin_crealf, __builtin_conjf, __builtin_sqrtf)
    else return -1;
    return 0;
}

/* Powers of complex numbers; whole ones by products, which have derivatives at zero, too. */
typedef struct {
    double re, im;
} Complex;

API void numba_cpow(const Complex *x, const Complex *p, Complex *out)
{
    double a = x->re, b = x->im, c = p->re, d = p->im;
    if (d == 0 && c == (int)c && __builtin_fabs(c) <= 64) {
        double u = 1, v = 0;
        for (int n = __builtin_abs((int)c); n > 0; n--) {
            double t = u * a - v * b;
            v = u * b + v * a;
            u = t;
        }
        if (c < 0) {
            double size = u * u + v * v;
            u = u / size;
            v = -v / size;
        }
        out->re = u;
        out->im = v;
    } else if (a == 0 && b == 0) {
        out->re = out->im = 0;
    } else {
        double l = __builtin_log(a * a + b * b) / 2, phase = __builtin_atan2(b, a);
        double size = __builtin_exp(c * l - d * phase), angle = d * l + c * phase;
        out->re = size * __builtin_cos(angle);
        out->im = size * __builtin_sin(angle);
    }
}

API double numba_frexp(double x, int *exponent) { return __builtin_frexp(x, exponent); }
API float numba_frexpf(float x, int *exponent) { return __builtin_frexpf(x, exponent); }
API double numba_ldexp(double x, int exponent) { return __builtin_ldexp(x, exponent); }
API float numba_ldexpf(float x, int exponent) { return __builtin_ldexpf(x, exponent); }
API double numba_gamma(double x) { return __builtin_tgamma(x); }
API float numba_gammaf(float x) { return __builtin_tgammaf(x); }

extern void llgrad_fail(int32_t code, const void *detail) __attribute__((noreturn));
API void numba_fatal_error(void) { llgrad_fail(4, 0); }
