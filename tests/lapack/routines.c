/* Every routine in all ways: from a matrix and right hand sides in v to one number that depends on all that is written. */
#include <math.h>
#include <stdlib.h>
#ifndef T
#define T double
#define ROUTINE(name) d##name##_
#define LAPACKE(name) LAPACKE_d##name
#endif
void ROUTINE(potrf)(const char *, const int *, T *, const int *, int *);
void ROUTINE(potrs)(const char *, const int *, const int *, const T *, const int *, T *, const int *, int *);
void ROUTINE(posv)(const char *, const int *, const int *, T *, const int *, T *, const int *, int *);
void ROUTINE(getrf)(const int *, const int *, T *, const int *, int *, int *);
void ROUTINE(getrs)(const char *, const int *, const int *, const T *, const int *, const int *, T *, const int *, int *,
                    long);
void ROUTINE(gesv)(const int *, const int *, T *, const int *, int *, T *, const int *, int *);
void ROUTINE(trtrs)(const char *, const char *, const char *, const int *, const int *, const T *, const int *, T *,
                    const int *, int *);
void ROUTINE(getri)(const int *, T *, const int *, const int *, T *, const int *, int *);
void ROUTINE(potri)(const char *, const int *, T *, const int *, int *);
#ifndef FORTRAN_ONLY
int LAPACKE(getri)(int, int, T *, int, const int *);
int LAPACKE(potri)(int, char, int, T *, int);
int LAPACKE(potrf)(int, char, int, T *, int);
int LAPACKE(potrs)(int, char, int, int, const T *, int, T *, int);
int LAPACKE(posv)(int, char, int, int, T *, int, T *, int);
int LAPACKE(getrf)(int, int, int, T *, int, int *);
int LAPACKE(getrs)(int, char, int, int, const T *, int, const int *, T *, int);
int LAPACKE(gesv)(int, int, int, T *, int, int *, T *, int);
int LAPACKE(trtrs)(int, char, char, char, int, int, const T *, int, T *, int);
#endif

enum { POTRF, POTRS, POSV, GETRF, GETRS, GESV, TRTRS, GETRI, POTRI };

/* v: n * n numbers of the matrix, then n * 2 right hand sides. */
T program(const T *v, int n, int which, int style, int up, int turned, int unit)
{
    int two = 2, ld = n + 1, ldb = style == 2 ? 3 : n + 2, info = 0, order = style == 2 ? 101 : 102;
    T *a = malloc(sizeof(T) * ld * n), *b = malloc(sizeof(T) * (3 * n + 4));
    int *p = malloc(sizeof(int) * n);
    char uplo = up ? 'U' : 'L', trans = turned ? 'T' : 'n', diag = unit ? 'U' : 'N';
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i + j * ld] = v[i + j * n] + ((which < GETRF || which == TRTRS || which == POTRI) && i == j ? 2 * n : 0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++)
            b[style == 2 ? i * ldb + j : i + j * ldb] = v[n * n + i + j * n];
    if (style == 0)
        switch (which) {
        case POTRF: ROUTINE(potrf)(&uplo, &n, a, &ld, &info); break;
        case POTRS: ROUTINE(potrs)(&uplo, &n, &two, a, &ld, b, &ldb, &info); break;
        case POSV: ROUTINE(posv)(&uplo, &n, &two, a, &ld, b, &ldb, &info); break;
        case GETRF: ROUTINE(getrf)(&n, &n, a, &ld, p, &info); break;
        case GETRS:
            ROUTINE(getrf)(&n, &n, a, &ld, p, &info);
            ROUTINE(getrs)(&trans, &n, &two, a, &ld, p, b, &ldb, &info, 1);
            break;
        case GESV: ROUTINE(gesv)(&n, &two, a, &ld, p, b, &ldb, &info); break;
        case TRTRS: ROUTINE(trtrs)(&uplo, &trans, &diag, &n, &two, a, &ld, b, &ldb, &info); break;
        case GETRI: {
            T size, *work;
            int asked = -1;
            ROUTINE(getrf)(&n, &n, a, &ld, p, &info);
            ROUTINE(getri)(&n, a, &ld, p, &size, &asked, &info);
            asked = size;
            work = malloc(sizeof(T) * asked);
            ROUTINE(getri)(&n, a, &ld, p, work, &asked, &info);
            free(work);
            break;
        }
        case POTRI:
            ROUTINE(potrf)(&uplo, &n, a, &ld, &info);
            ROUTINE(potri)(&uplo, &n, a, &ld, &info);
            break;
        }
#ifndef FORTRAN_ONLY
    else
        switch (which) {
        case POTRF: info = LAPACKE(potrf)(order, uplo, n, a, ld); break;
        case POTRS: info = LAPACKE(potrs)(order, uplo, n, 2, a, ld, b, ldb); break;
        case POSV: info = LAPACKE(posv)(order, uplo, n, 2, a, ld, b, ldb); break;
        case GETRF: info = LAPACKE(getrf)(order, n, n, a, ld, p); break;
        case GETRS:
            info = LAPACKE(getrf)(order, n, n, a, ld, p);
            info += LAPACKE(getrs)(order, trans, n, 2, a, ld, p, b, ldb);
            break;
        case GESV: info = LAPACKE(gesv)(order, n, 2, a, ld, p, b, ldb); break;
        case TRTRS: info = LAPACKE(trtrs)(order, uplo, trans, diag, n, 2, a, ld, b, ldb); break;
        case GETRI:
            info = LAPACKE(getrf)(order, n, n, a, ld, p);
            info += LAPACKE(getri)(order, n, a, ld, p);
            break;
        case POTRI:
            info = LAPACKE(potrf)(order, uplo, n, a, ld);
            info += LAPACKE(potri)(order, uplo, n, a, ld);
            break;
        }
#endif
    T sum = info == 0 ? 0 : NAN;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += sin(i + 2 * j) * a[i + j * ld] / n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++)
            sum += cos(3 * i + j) * b[style == 2 ? i * ldb + j : i + j * ldb];
    free(a);
    free(b);
    free(p);
    return sum;
}
/* What it says of matrices that have no factors. */
T singular(const T *a, T *f, int n, int *info)
{
    int p[8];
    for (int i = 0; i < n * n; i++)
        f[i] = a[i];
    ROUTINE(potrf)("L", &n, f, &n, info);
    T root = f[0];
    for (int i = 0; i < n * n; i++)
        f[i] = a[i];
    ROUTINE(getrf)(&n, &n, f, &n, p, info + 1);
    return f[0] * root;
}
