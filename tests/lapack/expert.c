/* Expert drivers for linear systems: from a matrix and right-hand sides in v to one number. */
#include <math.h>
#include <stdlib.h>
typedef double T;
typedef const int *I;
typedef const char *C;
void dgesvx_(C, C, I, I, T *, I, T *, I, int *, char *, T *, T *, T *, I, T *, I, T *, T *, T *, T *, int *, int *, long, long, long);
void dposvx_(C, C, I, I, T *, I, T *, I, char *, T *, T *, I, T *, I, T *, T *, T *, T *, int *, int *, long, long, long);
void dgbsvx_(C, C, I, I, I, I, T *, I, T *, I, int *, char *, T *, T *, T *, I, T *, I, T *, T *, T *, T *, int *, int *, long, long,
             long);

T program(const T *v, int n, int which, int turned, int up, int again)
{
    int info = 0, kl = 2, ku = 1, two = 2, lda = n + 3, ldf = n + 4, ldb = n + 1, ldx = n + 2;
    int *pivots = malloc(sizeof(int) * n), *integers = malloc(sizeof(int) * n);
    T *a = calloc(lda * n, sizeof(T)), *f = calloc(ldf * n, sizeof(T)), *b = malloc(sizeof(T) * ldb * 2), found = 0, sum = 0;
    T *x = malloc(sizeof(T) * ldx * 2), *r = malloc(sizeof(T) * n), *c = malloc(sizeof(T) * n), errors[4], *work = malloc(sizeof(T) * 4 * n);
    char trans = turned ? 'T' : 'N', uplo = up ? 'U' : 'L', equed = 'N';
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            if (which == 2 && (i > j + kl || i < j - ku)) continue;
            T y = v[which == 1 ? (i < j ? i + j * n : j + i * n) : i + j * n] + (which == 1 && i == j ? 3 * n : 0);
            a[which == 2 ? ku + i - j + j * lda : i + j * lda] = y;
        }
    for (int k = 0; k <= again; k++) {
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < n; i++) b[i + j * ldb] = v[n * n + i + j * n] * (1 + k);
        C fact = k ? "F" : "N";
        if (which == 0)
            dgesvx_(fact, &trans, &n, &two, a, &lda, f, &ldf, pivots, &equed, r, c, b, &ldb, x, &ldx, &found, errors, errors + 2, work,
                    integers, &info, 1, 1, 1);
        else if (which == 1)
            dposvx_(fact, &uplo, &n, &two, a, &lda, f, &ldf, &equed, r, b, &ldb, x, &ldx, &found, errors, errors + 2, work, integers,
                    &info, 1, 1, 1);
        else
            dgbsvx_(fact, &trans, &n, &kl, &ku, &two, a, &lda, f, &ldf, pivots, &equed, r, c, b, &ldb, x, &ldx, &found, errors,
                    errors + 2, work, integers, &info, 1, 1, 1);
    }
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < n; i++) sum += sin(i + 2 * j + 1) * x[i + j * ldx] * x[i + j * ldx];
    sum += found + (errors[0] < 1e-3) + (errors[3] < 1e-3);
    free(pivots), free(integers), free(a), free(f), free(b), free(x), free(r), free(c), free(work);
    return info == 0 ? sum : NAN;
}
