/* Copies with checked room, as -D_FORTIFY_SOURCE makes of them. */
#include "selfcheck.h"
void *__memcpy_chk(void *, const void *, size_t, size_t), *__memset_chk(void *, int, size_t, size_t);
void *__memmove_chk(void *, const void *, size_t, size_t), *__mempcpy_chk(void *, const void *, size_t, size_t);
static double f(const double *x, int n)
{
    double a[9], b[9], sum = 0;
    size_t bytes = (size_t)n * sizeof *x;
    __memset_chk(a, 0, sizeof a, sizeof a);
    char *end = (char *)__mempcpy_chk(a, x, bytes, sizeof a);
    memcpy(end, x, sizeof *x);
    __memcpy_chk(b, a, bytes + 8, sizeof b);
    __memmove_chk(b + 1, b, bytes, sizeof b - 8);
    for (int i = 0; i <= n; i++)
        sum += a[i] * b[i] * b[i];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
