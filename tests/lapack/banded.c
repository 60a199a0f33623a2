/* Band and tridiagonal matrices: from diagonals and right-hand sides in v to one number. */
#include <math.h>
#include <stdlib.h>
typedef double T;
typedef const int *I;
typedef const char *C;
void dgbtrf_(I, I, I, I, T *, I, int *, int *), dgbtrs_(C, I, I, I, I, const T *, I, const int *, T *, I, int *, long);
void dgbcon_(C, I, I, I, const T *, I, const int *, const T *, T *, T *, int *, int *, long);
T dlangb_(C, I, I, I, const T *, I, T *, long);
void dgbsv_(I, I, I, I, T *, I, int *, T *, I, int *);
void dpbtrf_(C, I, I, T *, I, int *, long), dpbtrs_(C, I, I, I, const T *, I, T *, I, int *, long);
void dpbsv_(C, I, I, I, T *, I, T *, I, int *, long);
void dgtsv_(I, I, T *, T *, T *, T *, I, int *), dptsv_(I, I, T *, T *, T *, I, int *);

T program(const T *v, int n, int which, int up, int turned)
{
    int info = 0, kl = 2, ku = 1, two = 2, lda = 2 * kl + ku + 2, ldb = n + 1;
    int *pivots = malloc(sizeof(int) * 2 * n);
    T *a = calloc(lda * n, sizeof(T)), *b = malloc(sizeof(T) * ldb * 2), sum = 0, *e = malloc(sizeof(T) * 3 * n);
    char uplo = up ? 'U' : 'L', trans = turned ? 'T' : 'N';
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < n; i++) b[i + r * ldb] = v[5 * n + i + r * n];
    for (int j = 0; j < n; j++) {
        if (which < 3 || which == 8)
            for (int i = j - ku < 0 ? 0 : j - ku; i < n && i <= j + kl; i++) a[kl + ku + i - j + j * lda] = v[5 * j + i - j + ku];
        else if (which < 6)
            for (int i = up ? (j < 2 ? 0 : j - 2) : j; i < n && i <= (up ? j : j + 2); i++)
                a[(up ? 2 + i - j : i - j) + j * lda] = v[5 * j + abs(i - j)] + (i == j ? 6 : 0);
        e[j] = v[5 * j];
        e[n + j] = v[5 * j + 1] + (which == 7 ? 4 : 0);
        e[2 * n + j] = v[5 * j + 2];
    }
    switch (which) {
    case 0: dgbtrf_(&n, &n, &kl, &ku, a, &lda, pivots, &info); break;
    case 1: dgbtrf_(&n, &n, &kl, &ku, a, &lda, pivots, &info);
        dgbtrs_(&trans, &n, &kl, &ku, &two, a, &lda, pivots, b, &ldb, &info, 1);
        break;
    case 2: dgbsv_(&n, &kl, &ku, &two, a, &lda, pivots, b, &ldb, &info); break;
    case 3: dpbtrf_(&uplo, &n, &kl, a, &lda, &info, 1); break;
    case 4: dpbtrf_(&uplo, &n, &kl, a, &lda, &info, 1);
        dpbtrs_(&uplo, &n, &kl, &two, a, &lda, b, &ldb, &info, 1);
        break;
    case 5: dpbsv_(&uplo, &n, &kl, &two, a, &lda, b, &ldb, &info, 1); break;
    case 6: dgtsv_(&n, &two, e, e + n, e + 2 * n, b, &ldb, &info); break;
    case 8: sum = dlangb_(turned ? "I" : "1", &n, &kl, &ku, a + kl, &lda, e, 1);
        dgbtrf_(&n, &n, &kl, &ku, a, &lda, pivots, &info);
        dgbcon_(turned ? "I" : "1", &n, &kl, &ku, a, &lda, pivots, &sum, b, e, pivots + n, &info, 1);
        sum = b[0] * b[0];
        break;
    case 7: dptsv_(&n, &two, e + n, e, b, &ldb, &info); break;
    }
    if (which == 0 || which == 3)
        for (int i = 0; i < lda * n; i++) sum += sin(i) * a[i] * a[i];
    else if (which != 8)
        for (int r = 0; r < 2; r++)
            for (int i = 0; i < n; i++) sum += sin(i + r + 1) * b[i + r * ldb] * b[i + r * ldb];
    if (which == 6 || which == 7)
        for (int i = 0; i < (which == 7 ? 2 * n : n - 1); i++) sum += cos(i) * e[which == 7 ? i : n + i] * (i != n - 1);
    free(pivots);
    free(a);
    free(b);
    free(e);
    return info == 0 ? sum : NAN;
}
