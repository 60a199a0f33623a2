/* Words of a union, read as doubles or not at all, in the lanes of a vector of integers beside their tags. */
#include "value.h"
typedef long lanes __attribute__((vector_size(16)));

static double into_lanes(const double *x, int n)
{
    struct Value v, w;
    made(&v, x, n & 1);
    double number = v.u.number;
    long bits;
    memcpy(&bits, &number, 8);
    lanes both = {v.tag, bits};
    memcpy(&w, &both, 16);
    return exp(looked_at(&w));
}

static double out_of_lanes(const double *x, int n)
{
    struct Value v, w;
    made(&v, x, n & 1);
    lanes both;
    memcpy(&both, &v, 16);
    long bits = both[1];
    w.tag = both[0];
    memcpy(&w.u.number, &bits, 8);
    return exp(looked_at(&w));
}

static double round_a_loop(const double *x, int n)
{
    struct Value v, w[2];
    double sum = 0;
    made(&v, x, 0);
    double number = v.u.number;
    long tag = v.tag;
    for (int i = 1; i < n; i++) {
        long bits;
        memcpy(&bits, &number, 8);
        lanes both = {tag, bits};
        memcpy(&w[i & 1], &both, 16);
        sum += sin(looked_at(&w[i & 1])) * i;
        made(&v, x, i);
        number = v.u.number;
        tag = v.tag;
    }
    return sum;
}

int main(void)
{
    CHECK_GRADIENT(into_lanes, 6);
    CHECK_GRADIENT(into_lanes, 7);
    CHECK_GRADIENT(out_of_lanes, 6);
    CHECK_GRADIENT(out_of_lanes, 7);
    CHECK_GRADIENT(round_a_loop, 6);
    return failures();
}
