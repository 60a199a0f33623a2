/* A union's word that is moved in a register of either of its types keeps its adjoint, or its shadow. */
#include "value.h"

static double chosen(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), one;
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    for (int i = 0; i < n; i++) {
        one = x[i] > 0.5 ? v[i] : v[n - 1 - i];
        sum += sin(looked_at(&one)) * (i + 1);
    }
    free(v);
    return sum;
}

static double as_pointers(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    for (int i = 0; i < n; i++) {
        const double *p = v[i].u.place;
        w[i].tag = v[i].tag + (p == 0);
        w[i].u.place = p;
    }
    for (int i = 0; i < n; i++)
        sum += looked_at(w + i) * looked_at(w + i);
    free(v);
    free(w);
    return sum;
}

static double as_numbers(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    for (int i = 0; i < n; i++) {
        double moved = v[i].u.number;
        int to = (2 * i + 1) % n;
        w[to].tag = v[i].tag;
        w[to].u.number = moved;
    }
    for (int i = 0; i < n; i++)
        sum += looked_at(w + i) * (i + 1);
    free(v);
    free(w);
    return sum;
}

static double turned(const double *x, int n)
{
    struct Value v[8];
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    for (int i = 0; i + 2 < n; i++) {
        struct Value t = v[i];
        v[i] = v[i + 2];
        v[i + 2] = t;
    }
    for (int i = 0; i < n; i++)
        sum += cos(looked_at(v + i)) * (i + 1);
    return sum;
}

static double with_a_constant(const double *x, int n)
{
    struct Value v[3], one;
    for (int i = 0; i < 3; i++) {
        v[i].tag = (i + n) & 1;
        if (v[i].tag)
            v[i].u.place = x + 1;
        else
            v[i].u.number = atan(0.1 * n);
    }
    if (n > 1) {
        struct Value t = v[0];
        v[0] = v[2];
        v[2] = t;
    }
    one = v[(5 + n) % 3];
    return x[0] * looked_at(v + n % 3) + sin(x[1]) * looked_at(&one);
}

int main(void)
{
    CHECK_GRADIENT(chosen, 6);
    CHECK_GRADIENT(as_pointers, 6);
    CHECK_GRADIENT(as_numbers, 7);
    CHECK_GRADIENT(turned, 7);
    CHECK_GRADIENT(with_a_constant, 3);
    CHECK_GRADIENT(with_a_constant, 4);
    CHECK_GRADIENT(with_a_constant, 5);
    return failures();
}
