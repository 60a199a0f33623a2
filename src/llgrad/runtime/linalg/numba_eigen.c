/* Eigenvalues of any matrix, as np.linalg asks LAPACK for them. LAPACK's own values and vectors count as constant: two
 * steps of Newton's method lead from them to the same again, with their first and second derivatives. */
#define COMPLEX
#include "elements.h"

extern int32_t llgrad_numba_rgeev(int8_t kind, int8_t left, int8_t right, int64_t n, void *matrix, int64_t lda, void *real,
                                  void *imaginary, void *lefts, int64_t ldvl, void *rights, int64_t ldvr);
extern int32_t llgrad_numba_cgeev(int8_t kind, int8_t left, int8_t right, int64_t n, void *matrix, int64_t lda,
                                  void *values, void *lefts, int64_t ldvl, void *rights, int64_t ldvr);

static void swapped(Z *a, int64_t i, int64_t k, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        Z x = a[i + j * n];
        a[i + j * n] = a[k + j * n];
        a[k + j * n] = x;
    }
}

/* B = V^-1 A V by elimination. Can it be done? */
static int similar(const Z *a, const Z *v, Z *b, int64_t n)
{
    Z *l = room(n * n);
    int good = 1;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            Z sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += a[i + k * n] * v[k + j * n];
            b[i + j * n] = sum;
            l[i + j * n] = v[i + j * n];
        }
    for (int64_t k = 0; k < n && good; k++) {
        int64_t p = k;
        double most = -1;
        for (int64_t i = k; i < n; i++)
            if (square(l[i + k * n]) > most)
                most = square(l[i + k * n]), p = i;
        good = most > 0;
        if (!good)
            break;
        if (p != k) {
            swapped(l, p, k, n);
            swapped(b, p, k, n);
        }
        for (int64_t i = k + 1; i < n; i++) {
            Z f = l[i + k * n] / l[k + k * n];
            for (int64_t j = k + 1; j < n; j++)
                l[i + j * n] -= f * l[k + j * n];
            for (int64_t j = 0; j < n; j++)
                b[i + j * n] -= f * b[k + j * n];
        }
    }
    for (int64_t j = 0; j < n && good; j++)
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++)
                b[i + j * n] -= l[i + k * n] * b[k + j * n];
            b[i + j * n] /= l[i + i * n];
        }
    free(l);
    return good;
}

/* V (I + X), where X makes V^-1 A V = B diagonal to the first order; of equal eigenvalues it mixes nothing. */
static void bettered(Z *v, const Z *b, double least, int64_t n)
{
    Z *made = room(n * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++)
            made[k + j * n] = v[k + j * n];
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            Z apart = b[j + j * n] - b[i + i * n];
            if (i != j && square(apart) > least) {
                Z x = b[i + j * n] / apart;
                for (int64_t k = 0; k < n; k++)
                    made[k + j * n] += v[k + i * n] * x;
            }
        }
    for (int64_t i = 0; i < n * n; i++)
        v[i] = made[i];
    free(made);
}

/* Columns of length one, whose largest element is real if they are complex, and keeps the sign of `first`. */
static void normed(Z *v, const Z *first, int complex, int64_t n)
{
    double sum = 0, most = -1;
    int64_t p = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += square(v[i]);
        if (square(v[i]) > most)
            most = square(v[i]), p = i;
    }
    sum = __builtin_sqrt(sum);
    Z turn = 1;
    if (complex)
        turn = CONJ(v[p]) / (__builtin_sqrt(square(v[p])) * (RE(first[p]) < 0 ? -1 : 1));
    for (int64_t i = 0; i < n; i++)
        v[i] = v[i] * turn / sum;
}

/* Eigenvalues on the diagonal of `b` and their vectors, not normed, from those in `first`; the largest's square. */
static int improved(const Z *a, Z *v, Z *b, const Z *first, double largest, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        v[i] = first[i];
    if (!similar(a, v, b, n))
        return 0;
    bettered(v, b, 1e-24 * largest, n);
    if (!similar(a, v, b, n))
        return 0;
    return 1;
}

int32_t numba_ez_cgeev(int8_t kind, int8_t left, int8_t right, int64_t n, void *matrix, int64_t lda, void *values,
                       void *lefts, int64_t ldvl, void *rights, int64_t ldvr)
{
    if (left == 'V' || left == 'v')
        return -1;
    Z *a = copied(kind, matrix, n, n, lda), *taken = copied(kind, matrix, n, n, lda), none;
    Z *w = calloc(n, sizeof *w), *first = calloc(n * n, sizeof *first), *v = room(n * n), *b = room(n * n);
    double largest = 0;
    int32_t info = llgrad_numba_cgeev('z', 'N', 'V', n, taken, n, w, &none, 1, first, n);
    for (int64_t j = 0; j < n; j++)
        largest = square(w[j]) > largest ? square(w[j]) : largest;
    if (info == 0 && !improved(a, v, b, first, largest, n))
        info = 1;
    for (int64_t j = 0; j < n && info == 0; j++)
        w[j] = b[j + j * n];
    if (info == 0)
        stored(kind, w, n, 1, values, n);
    if (info == 0 && (right == 'V' || right == 'v')) {
        bettered(v, b, 1e-24 * largest, n);
        for (int64_t j = 0; j < n; j++)
            normed(v + j * n, first + j * n, 1, n);
        stored(kind, v, n, n, rights, ldvr);
    }
    free(b);
    free(v);
    free(first);
    free(w);
    free(taken);
    free(a);
    return info;
}

static double at(int8_t kind, const void *x, int64_t i)
{
    return kind == 'd' ? ((const double *)x)[i] : ((const float *)x)[i];
}

static void put(int8_t kind, void *x, int64_t i, double value)
{
    if (kind == 'd')
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = value;
}

/* Of a complex pair the vectors are a column each for the real and imaginary part. */
int32_t numba_ez_rgeev(int8_t kind, int8_t left, int8_t right, int64_t n, void *matrix, int64_t lda, void *real_parts,
                       void *imaginary_parts, void *lefts, int64_t ldvl, void *rights, int64_t ldvr)
{
    if (left == 'V' || left == 'v')
        return -1;
    Z *a = room(n * n), *first = room(n * n), *v = room(n * n), *b = room(n * n);
    double *wr = calloc(n, sizeof *wr), *wi = calloc(n, sizeof *wi), *x = calloc(n * n, sizeof *x);
    double *taken = calloc(n * n, sizeof *taken), largest = 0, none;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            a[i + j * n] = taken[i + j * n] = at(kind, matrix, i + j * lda);
    int32_t info = llgrad_numba_rgeev('d', 'N', 'V', n, taken, n, wr, wi, &none, 1, x, n);
    for (int64_t j = 0; j < n; j++) {
        double size = wr[j] * wr[j] + wi[j] * wi[j];
        largest = size > largest ? size : largest;
        for (int64_t i = 0; i < n; i++) {
            double im = wi[j] == 0 ? 0 : wi[j] > 0 ? x[i + (j + 1) * n] : -x[i + j * n];
            first[i + j * n] = x[i + (wi[j] < 0 ? j - 1 : j) * n] + im * 1.0i;
        }
    }
    if (info == 0 && !improved(a, v, b, first, largest, n))
        info = 1;
    for (int64_t j = 0; j < n && info == 0; j++) {
        put(kind, real_parts, j, RE(b[j + j * n]));
        put(kind, imaginary_parts, j, wi[j] == 0 ? 0 : IM(b[j + j * n]));
    }
    if (info == 0 && (right == 'V' || right == 'v')) {
        bettered(v, b, 1e-24 * largest, n);
        for (int64_t j = 0; j < n; j++) {
            if (wi[j] < 0)
                continue;
            normed(v + j * n, first + j * n, wi[j] > 0, n);
            for (int64_t i = 0; i < n; i++) {
                put(kind, rights, i + j * ldvr, RE(v[i + j * n]));
                if (wi[j] > 0)
                    put(kind, rights, i + (j + 1) * ldvr, IM(v[i + j * n]));
            }
        }
    }
    free(taken);
    free(x);
    free(wi);
    free(wr);
    free(b);
    free(v);
    free(first);
    free(a);
    return info;
}
