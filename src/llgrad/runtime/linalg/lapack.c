/* What StableHLO leaves to LAPACK, and sorting, for matrices whose rows lie one after another. A memref is passed as two
 * addresses, an offset, extents and strides. They are code like any other: their derivatives are made, not written. They
 * are not inlined, where LLVM would unroll their loops for the sizes of a call. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define VECTOR(type, x) type *x##_block, type *x##_at, int64_t x##_offset, int64_t x##_n, int64_t x##_stride
#define A(i, j) a[(i) * n + (j)]
#define X(i, j) x[(i) * n + (j)]

/* A permutation becomes one that sorts, by merging; what is not a number is the largest, what is equal keeps its order. */
#define SORT(name, type)                                                       \
    __attribute__((noinline)) void name(VECTOR(type, key), VECTOR(int64_t, order), int64_t down)         \
    {                                                                          \
        const type *x = key_at + key_offset;                                   \
        int64_t *to = order_at + order_offset, *from = malloc((key_n + 1) * sizeof *from); \
        for (int64_t run = 1; run < key_n; run *= 2) {                         \
            for (int64_t i = 0; i < key_n; i++) from[i] = to[i];               \
            for (int64_t low = 0; low < key_n; low += 2 * run) {               \
                int64_t middle = low + run < key_n ? low + run : key_n;        \
                int64_t high = middle + run < key_n ? middle + run : key_n;    \
                int64_t l = low, r = middle;                                   \
                for (int64_t k = low; k < high; k++) {                         \
                    _Bool right = l >= middle;                                 \
                    if (l < middle && r < high) {                              \
                        type a = x[from[l] * key_stride], b = x[from[r] * key_stride]; \
                        right = down ? b > a || (b != b && a == a) : b < a || (a != a && b == b); \
                    }                                                          \
                    to[k] = right ? from[r++] : from[l++];                     \
                }                                                              \
            }                                                                  \
        }                                                                      \
        free(from);                                                            \
    }
SORT(llgrad_sort_f64, double)
SORT(llgrad_sort_f32, float)
SORT(llgrad_sort_i64, int64_t)
SORT(llgrad_sort_i32, int32_t)

/* a = l lᵀ, or uᵀ u, in its triangle; how far it came where it is not positive definite. */
#define POTRF(name, type, sqrt)                                                \
    __attribute__((noinline)) int32_t name(VECTOR(type, m), int64_t n, int64_t upper)                    \
    {                                                                          \
        type *a = m_at + m_offset;                                             \
        int64_t s = upper ? 1 : n, t = upper ? n : 1;                          \
        for (int64_t j = 0; j < n; j++) {                                      \
            type d = a[j * s + j * t];                                         \
            for (int64_t k = 0; k < j; k++) d -= a[j * s + k * t] * a[j * s + k * t]; \
            if (!(d > 0)) return (int32_t)(j + 1);                             \
            d = sqrt(d);                                                       \
            a[j * s + j * t] = d;                                              \
            for (int64_t i = j + 1; i < n; i++) {                              \
                type v = a[i * s + j * t];                                     \
                for (int64_t k = 0; k < j; k++) v -= a[i * s + k * t] * a[j * s + k * t]; \
                a[i * s + j * t] = v / d;                                      \
            }                                                                  \
        }                                                                      \
        return 0;                                                              \
    }
POTRF(llgrad_potrf_f64, double, sqrt)
POTRF(llgrad_potrf_f32, float, sqrtf)

/* Rows are exchanged for the largest pivot, whose places are counted from 1. */
#define GETRF(name, type, fabs)                                                \
    __attribute__((noinline)) int32_t name(VECTOR(type, m), VECTOR(int32_t, pivot), int64_t rows, int64_t n) \
    {                                                                          \
        type *a = m_at + m_offset;                                             \
        int32_t *p = pivot_at + pivot_offset, info = 0;                        \
        for (int64_t k = 0; k < pivot_n; k++) {                                \
            int64_t best = k;                                                  \
            for (int64_t i = k + 1; i < rows; i++)                             \
                if (fabs(A(i, k)) > fabs(A(best, k))) best = i;                \
            p[k] = (int32_t)(best + 1);                                        \
            if (A(best, k) == 0) {                                             \
                info = info ? info : (int32_t)(k + 1);                         \
                continue;                                                      \
            }                                                                  \
            for (int64_t j = 0; j < n; j++) {                                  \
                type v = A(k, j);                                              \
                A(k, j) = A(best, j);                                          \
                A(best, j) = v;                                                \
            }                                                                  \
            for (int64_t i = k + 1; i < rows; i++) {                           \
                type l = A(i, k) / A(k, k);                                    \
                A(i, k) = l;                                                   \
                for (int64_t j = k + 1; j < n; j++) A(i, j) -= l * A(k, j);    \
            }                                                                  \
        }                                                                      \
        return info;                                                           \
    }
GETRF(llgrad_getrf_f64, double, fabs)
GETRF(llgrad_getrf_f32, float, fabsf)

/* x is m by n. op(a) x = b, or x op(a) = b: rows or columns of x one after another, in the order that a's triangle gives. */
#define TRSM(name, type)                                                       \
    __attribute__((noinline)) void name(VECTOR(type, m), VECTOR(type, b), int64_t rows, int64_t n, int64_t left, int64_t upper, int64_t plain, \
              int64_t unit)                                                    \
    {                                                                          \
        const type *a = m_at + m_offset;                                       \
        type *x = b_at + b_offset;                                             \
        int64_t size = left ? rows : n, count = left ? n : rows;               \
        int64_t along = left ? n : 1, across = left ? 1 : n;                   \
        int64_t by_row = (plain != 0) == (left != 0);                          \
        int64_t s = by_row ? size : 1, t = by_row ? 1 : size;                  \
        int64_t forwards = (upper != 0) != by_row;                             \
        for (int64_t c = 0; c < count; c++)                                    \
            for (int64_t step = 0; step < size; step++) {                      \
                int64_t i = forwards ? step : size - 1 - step;                 \
                type v = x[i * along + c * across];                            \
                for (int64_t done = 0; done < step; done++) {                  \
                    int64_t k = forwards ? done : size - 1 - done;             \
                    v -= a[i * s + k * t] * x[k * along + c * across];         \
                }                                                              \
                x[i * along + c * across] = unit ? v : v / a[i * s + i * t];   \
            }                                                                  \
    }
TRSM(llgrad_trsm_f64, double)
TRSM(llgrad_trsm_f32, float)

/* a = q r: r above, the reflections' vectors (which begin with 1) below the diagonal, their factors in tau. */
#define GEQRF(name, type, sqrt, copysign)                                      \
    __attribute__((noinline)) void name(VECTOR(type, m), VECTOR(type, factor), int64_t rows, int64_t n) \
    {                                                                          \
        type *a = m_at + m_offset, *tau = factor_at + factor_offset;           \
        for (int64_t k = 0; k < factor_n; k++) {                               \
            type alpha = A(k, k), below = 0;                                   \
            for (int64_t i = k + 1; i < rows; i++) below += A(i, k) * A(i, k); \
            tau[k] = 0;                                                        \
            if (below == 0) continue;                                          \
            type beta = -copysign(sqrt(alpha * alpha + below), alpha);         \
            tau[k] = (beta - alpha) / beta;                                    \
            for (int64_t i = k + 1; i < rows; i++) A(i, k) /= alpha - beta;    \
            A(k, k) = beta;                                                    \
            for (int64_t j = k + 1; j < n; j++) {                              \
                type w = A(k, j);                                              \
                for (int64_t i = k + 1; i < rows; i++) w += A(i, k) * A(i, j); \
                A(k, j) -= tau[k] * w;                                         \
                for (int64_t i = k + 1; i < rows; i++) A(i, j) -= tau[k] * w * A(i, k); \
            }                                                                  \
        }                                                                      \
    }
GEQRF(llgrad_geqrf_f64, double, sqrt, copysign)
GEQRF(llgrad_geqrf_f32, float, sqrtf, copysignf)

/* The columns of q from those reflections. */
#define ORGQR(name, type)                                                      \
    __attribute__((noinline)) void name(VECTOR(type, m), VECTOR(type, factor), int64_t rows, int64_t n) \
    {                                                                          \
        type *a = m_at + m_offset;                                             \
        const type *tau = factor_at + factor_offset;                           \
        for (int64_t j = factor_n; j < n; j++)                                 \
            for (int64_t i = 0; i < rows; i++) A(i, j) = i == j;               \
        for (int64_t k = factor_n - 1; k >= 0; k--) {                          \
            for (int64_t j = k + 1; j < n; j++) {                              \
                type w = A(k, j);                                              \
                for (int64_t i = k + 1; i < rows; i++) w += A(i, k) * A(i, j); \
                A(k, j) -= tau[k] * w;                                         \
                for (int64_t i = k + 1; i < rows; i++) A(i, j) -= tau[k] * w * A(i, k); \
            }                                                                  \
            for (int64_t i = k + 1; i < rows; i++) A(i, k) *= -tau[k];         \
            A(k, k) = 1 - tau[k];                                              \
            for (int64_t i = 0; i < k; i++) A(i, k) = 0;                       \
        }                                                                      \
    }
ORGQR(llgrad_orgqr_f64, double)
ORGQR(llgrad_orgqr_f32, float)
