/* The eight bytes of a union are moved as an integer, or byte by byte. */
#include "value.h"

static double as_ints(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
    double sum = 0;
    for (int i = 0; i < n; i++) made(v + i, x, i);
    for (int i = 0; i < n; i++) {
        unsigned long word;
        memcpy(&word, &v[i].u, 8);
        w[n - 1 - i].tag = v[i].tag;
        memcpy(&w[n - 1 - i].u, &word, 8);
    }
    for (int i = 0; i < n; i++) sum += sin(looked_at(w + i)) * (i + 1);
    free(v); free(w);
    return sum;
}
static __attribute__((noinline)) unsigned long id(unsigned long w) { return w; }
static double through(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
    double sum = 0;
    for (int i = 0; i < n; i++) made(v + i, x, i);
    for (int i = 0; i < n; i++) {
        unsigned long word;
        memcpy(&word, &v[i].u, 8);
        w[n - 1 - i].tag = v[i].tag;
        word = id(word);
        memcpy(&w[n - 1 - i].u, &word, 8);
    }
    for (int i = 0; i < n; i++) sum += sin(looked_at(w + i)) * (i + 1);
    free(v); free(w);
    return sum;
}
static double bytes(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
    double sum = 0;
    for (int i = 0; i < n; i++) made(v + i, x, i);
    for (int i = 0; i < n; i++) {
        unsigned char *a = (unsigned char *)(v + i), *b = (unsigned char *)(w + (n - 1 - i));
        for (size_t k = 0; k < sizeof *v; k++) b[k] = a[k];
    }
    for (int i = 0; i < n; i++) sum += sin(looked_at(w + i)) * (i + 1);
    free(v); free(w);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(as_ints, 6);
    CHECK_GRADIENT(through, 6);
    CHECK_GRADIENT(bytes, 6);
    return failures();
}
