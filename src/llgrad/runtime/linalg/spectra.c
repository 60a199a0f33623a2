/* What StableHLO has of spectra, for arrays whose last index runs fastest: Fourier transforms, eigenvalues of symmetric
 * matrices, singular values. They are code like any other: their derivatives are made, not written. */
#include "jacobi.h"
#include <math.h>

#define VECTOR(type, x) type *x##_block, type *x##_at, int64_t x##_offset, int64_t x##_n, int64_t x##_stride
#define API __attribute__((noinline))

/* --- Fourier ----------------------------------------------------------------------------------------------------------
 * Numbers are pairs, real and imaginary part. For each factor p of n, sums over l of the elements that lie r = n / l apart
 * become sums over l p. */

static double *roots(int64_t n, int64_t inverse)
{
    double *root = malloc((2 * n + 2) * sizeof *root);
    for (int64_t k = 0; k < n; k++) {
        root[2 * k] = cos(2 * M_PI * k / n);
        root[2 * k + 1] = (inverse ? 1 : -1) * sin(2 * M_PI * k / n);
    }
    return root;
}

static void transformed(double *a, const double *root, int64_t n)
{
    double *b = malloc((2 * n + 2) * sizeof *b);
    int64_t p = 1;
    for (int64_t l = 1; l < n; l *= p) {
        for (p = 2; n / l % p; p++) {
        }
        int64_t left = n / l / p;
        for (int64_t j = 0; j < left; j++)
            for (int64_t t = 0; t < l * p; t++) {
                double re = 0, im = 0;
                for (int64_t k = 0; k < p; k++) {
                    int64_t at = (j + left * k) * l + t % l, turn = k * t % (l * p) * left;
                    double c = root[2 * turn], s = root[2 * turn + 1];
                    re += a[2 * at] * c - a[2 * at + 1] * s;
                    im += a[2 * at] * s + a[2 * at + 1] * c;
                }
                b[2 * (j * l * p + t)] = re;
                b[2 * (j * l * p + t) + 1] = im;
            }
        for (int64_t i = 0; i < 2 * n; i++)
            a[i] = b[i];
    }
    free(b);
}

/* Along the middle one of three axes. */
#define FFT(name, type)                                                                                                \
    API void name(VECTOR(type, m), int64_t outer, int64_t n, int64_t inner, int64_t inverse)                           \
    {                                                                                                                  \
        double *root = roots(n, inverse), *a = malloc((2 * n + 2) * sizeof *a), scale = inverse ? 1.0 / n : 1;         \
        for (int64_t o = 0; o < outer; o++)                                                                            \
            for (int64_t i = 0; i < inner; i++) {                                                                      \
                type *x = m_at + 2 * (m_offset + o * n * inner + i);                                                   \
                for (int64_t k = 0; k < n; k++) {                                                                      \
                    a[2 * k] = x[2 * k * inner];                                                                       \
                    a[2 * k + 1] = x[2 * k * inner + 1];                                                               \
                }                                                                                                      \
                transformed(a, root, n);                                                                               \
                for (int64_t k = 0; k < n; k++) {                                                                      \
                    x[2 * k * inner] = scale * a[2 * k];                                                               \
                    x[2 * k * inner + 1] = scale * a[2 * k + 1];                                                       \
                }                                                                                                      \
            }                                                                                                          \
        free(a);                                                                                                       \
        free(root);                                                                                                    \
    }
FFT(llgrad_fft_f64, double)
FFT(llgrad_fft_f32, float)

/* Rows of n real numbers to the first half of their transforms. */
#define RFFT(name, type)                                                                                               \
    API void name(VECTOR(type, m), VECTOR(type, half), int64_t rows, int64_t n)                                        \
    {                                                                                                                  \
        double *root = roots(n, 0), *a = malloc((2 * n + 2) * sizeof *a);                                              \
        int64_t few = n / 2 + 1;                                                                                       \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            const type *x = m_at + m_offset + r * n;                                                                   \
            type *y = half_at + 2 * (half_offset + r * few);                                                           \
            for (int64_t k = 0; k < n; k++) {                                                                          \
                a[2 * k] = x[k];                                                                                       \
                a[2 * k + 1] = 0;                                                                                      \
            }                                                                                                          \
            transformed(a, root, n);                                                                                   \
            for (int64_t k = 0; k < 2 * few; k++)                                                                      \
                y[k] = a[k];                                                                                           \
        }                                                                                                              \
        free(a);                                                                                                       \
        free(root);                                                                                                    \
    }
RFFT(llgrad_rfft_f64, double)
RFFT(llgrad_rfft_f32, float)

/* And back. What must be real is taken to be. */
#define IRFFT(name, type)                                                                                              \
    API void name(VECTOR(type, half), VECTOR(type, m), int64_t rows, int64_t n)                                        \
    {                                                                                                                  \
        double *root = roots(n, 1), *a = malloc((2 * n + 2) * sizeof *a);                                              \
        int64_t few = n / 2 + 1;                                                                                       \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            const type *y = half_at + 2 * (half_offset + r * few);                                                     \
            type *x = m_at + m_offset + r * n;                                                                         \
            for (int64_t k = 0; k < n; k++) {                                                                          \
                int64_t from = k < few ? k : n - k;                                                                    \
                a[2 * k] = y[2 * from];                                                                                \
                a[2 * k + 1] = 2 * k % n == 0 ? 0 : k < few ? y[2 * from + 1] : -y[2 * from + 1];                      \
            }                                                                                                          \
            transformed(a, root, n);                                                                                   \
            for (int64_t k = 0; k < n; k++)                                                                            \
                x[k] = a[2 * k] / n;                                                                                   \
        }                                                                                                              \
        free(a);                                                                                                       \
        free(root);                                                                                                    \
    }
IRFFT(llgrad_irfft_f64, double)
IRFFT(llgrad_irfft_f32, float)

/* --- matrices ------------------------------------------------------------------------------------------------------- */

/* Eigenvectors in the columns of what was the matrix, of which one triangle is read. */
#define SYEVD(name, type)                                                                                              \
    API int32_t name(VECTOR(type, m), VECTOR(type, value), int64_t n, int64_t upper)                                   \
    {                                                                                                                  \
        type *x = m_at + m_offset, *value = value_at + value_offset;                                                   \
        double *a = malloc((n * n + 1) * sizeof *a), *v = identity(n), *w = malloc((n + 1) * sizeof *w);               \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int64_t j = 0; j <= i; j++)                                                                           \
                a[i + j * n] = a[j + i * n] = upper ? x[j * n + i] : x[i * n + j];                                     \
        int good = diagonalised(a, v, n);                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                                \
            w[i] = a[i + i * n];                                                                                       \
        int64_t *order = ordered(w, n);                                                                                \
        for (int64_t j = 0; j < n; j++) {                                                                              \
            value[j] = w[order[j]];                                                                                    \
            for (int64_t i = 0; i < n; i++)                                                                            \
                x[i * n + j] = v[i + order[j] * n];                                                                    \
        }                                                                                                              \
        free(order);                                                                                                   \
        free(w);                                                                                                       \
        free(v);                                                                                                       \
        free(a);                                                                                                       \
        return good ? 0 : 1;                                                                                           \
    }
SYEVD(llgrad_syevd_f64, double)
SYEVD(llgrad_syevd_f32, float)

/* m by n = u diag(s) vt, as many vectors as singular values; those of values that are zero are asked for in vain. */
#define GESDD(name, type)                                                                                              \
    API int32_t name(VECTOR(type, a), VECTOR(type, s), VECTOR(type, u), VECTOR(type, vt), int64_t m, int64_t n,        \
                     int64_t vectors)                                                                                  \
    {                                                                                                                  \
        const type *x = a_at + a_offset;                                                                               \
        type *values = s_at + s_offset, *left = u_at + u_offset, *right = vt_at + vt_offset;                           \
        int64_t wide = m < n, rows = wide ? n : m, few = wide ? m : n;                                                 \
        double *g = malloc((m * n + 1) * sizeof *g), *v = identity(few), *s = malloc((few + 1) * sizeof *s);           \
        for (int64_t i = 0; i < m; i++)                                                                                \
            for (int64_t j = 0; j < n; j++)                                                                            \
                g[wide ? j + i * n : i + j * m] = x[i * n + j];                                                        \
        int good = orthogonalised(g, v, rows, few);                                                                    \
        for (int64_t j = 0; j < few; j++) {                                                                            \
            double sum = 0;                                                                                            \
            for (int64_t i = 0; i < rows; i++)                                                                         \
                sum += g[i + j * rows] * g[i + j * rows];                                                              \
            s[j] = sqrt(sum);                                                                                          \
        }                                                                                                              \
        int64_t *order = ordered(s, few);                                                                              \
        for (int64_t j = 0; j < few; j++) {                                                                            \
            int64_t k = order[few - 1 - j];                                                                            \
            values[j] = s[k];                                                                                          \
            if (!vectors)                                                                                              \
                continue;                                                                                              \
            good &= s[k] != 0;                                                                                         \
            for (int64_t i = 0; i < m; i++)                                                                            \
                left[i * few + j] = wide ? v[i + k * few] : g[i + k * rows] / s[k];                                    \
            for (int64_t i = 0; i < n; i++)                                                                            \
                right[j * n + i] = wide ? g[i + k * rows] / s[k] : v[i + k * few];                                     \
        }                                                                                                              \
        free(order);                                                                                                   \
        free(s);                                                                                                       \
        free(v);                                                                                                       \
        free(g);                                                                                                       \
        return good ? 0 : 1;                                                                                           \
    }
GESDD(llgrad_gesdd_f64, double)
GESDD(llgrad_gesdd_f32, float)
