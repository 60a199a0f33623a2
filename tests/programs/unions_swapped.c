/* Whole unions of a pointer and a double are swapped and handed round: what they hold is known from elsewhere only. */
#include "value.h"

static double reversed(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v);
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    for (int i = 0, j = n - 1; i < j; i++, j--) {
        struct Value t = v[i];
        v[i] = v[j];
        v[j] = t;
    }
    for (int i = 0; i < n; i++)
        sum += sin(looked_at(v + i)) * (i + 1);
    free(v);
    return sum;
}

static double rotated(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), last;
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    last = v[n - 1];
    for (int i = 0; i < n; i++) {
        struct Value t = v[i];
        v[i] = last;
        last = t;
    }
    for (int i = 0; i < n; i++)
        sum += sin(looked_at(v + i)) * (i + 1);
    free(v);
    return sum;
}

int main(void)
{
    CHECK_GRADIENT(reversed, 6);
    CHECK_GRADIENT(rotated, 7);
    return failures();
}
