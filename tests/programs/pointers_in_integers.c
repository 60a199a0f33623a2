/* Pointers that lie in integers of records, put there by memcpy or by a cast, and are moved as the integers they are. */
#include "selfcheck.h"

struct record {
    long word;
    int weight;
};

static __attribute__((noinline)) void put(struct record *r, const double *p, int i)
{
    memcpy(&r->word, &p, sizeof p);
    r->weight = i + 1;
}

static __attribute__((noinline)) void put_by_cast(struct record *r, const double *p, int i)
{
    *(const double **)&r->word = p;
    r->weight = i + 1;
}

static __attribute__((noinline)) void copied(struct record *to, const struct record *from)
{
    to->word = from->word;
    to->weight = from->weight;
}

static __attribute__((noinline)) double looked_at(const struct record *r)
{
    const double *p;
    memcpy(&p, &r->word, sizeof p);
    return *p * r->weight;
}

static double one_by_one(const double *x, int n)
{
    struct record v, w;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        put(&v, x + i, i);
        copied(&w, &v);
        sum += sin(looked_at(&w));
    }
    return sum;
}

#define IN_ARRAYS(name, put)                                                    \
    static double name(const double *x, int n)                                  \
    {                                                                           \
        struct record *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);   \
        double sum = 0;                                                         \
        for (int i = 0; i < n; i++)                                             \
            put(v + i, x + i, i);                                               \
        for (int i = 0; i < n; i++)                                             \
            copied(w + n - 1 - i, v + i);                                       \
        for (int i = 0; i < n; i++)                                             \
            sum += sin(looked_at(w + i)) * (i + 1);                             \
        free(v);                                                                \
        free(w);                                                                \
        return sum;                                                             \
    }

IN_ARRAYS(in_arrays, put)
IN_ARRAYS(by_casts, put_by_cast)

int main(void)
{
    CHECK_GRADIENT(one_by_one, 6);
    CHECK_GRADIENT(in_arrays, 6);
    CHECK_GRADIENT(by_casts, 6);
    return failures();
}
