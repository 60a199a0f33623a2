/* States behind a `void *`, told apart by their tables of functions: one has a pointer where another has numbers. */
#include "selfcheck.h"
struct state;
struct functions {
    double (*run)(struct state *, const double *, int);
    void (*close)(struct state *);
};
struct state {
    const struct functions *functions;
    double scale;
    void *data;
};
struct hold {
    int magic;
    long used;
    double *last;
};
struct filter {
    int magic;
    long used;
    int half, step; /* where a `struct hold` has its pointer */
    const double *table;
    double *buffer;
};
static const double table[10] = {1, .7, .5, .3, .2, .1, .05, .01, .005, 0};
static double hold(struct state *s, const double *x, int n)
{
    struct hold *h = s->data;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += h->last[h->used++ % 2] * x[i];
        h->last[i % 2] = x[i] * x[i];
    }
    return sum + s->scale;
}
static double one(const struct filter *h, int step, int start)
{
    int last = h->half << 12, at = start; /* in fixed point */
    int count = (last - at) / step, k = count;
    at += count * step;
    double sum = 0;
    while (at >= 0) {
        double part = (at & 4095) / 4096.0;
        int n = at >> 12;
        if (n + 1 >= h->half + 2)
            abort();
        sum += (h->table[n] + part * (h->table[n + 1] - h->table[n])) * h->buffer[k-- % 8];
        at -= step;
    }
    return sum;
}
static double filter(struct state *s, const double *x, int n)
{
    struct filter *h = s->data;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        h->buffer[h->used++ % h->half] = x[i];
        double v = one(h, h->step, 700 * (i % 3));
        sum += v * v;
    }
    return sum * s->scale;
}
static void close_any(struct state *s)
{
    free(s->data);
    s->data = NULL;
}
static const struct functions holds = {hold, close_any}, filters = {filter, close_any};
static struct state *new_hold(double *last)
{
    struct state *s = calloc(1, sizeof *s);
    struct hold *h = calloc(1, sizeof *h);
    h->magic = 1;
    h->last = last;
    *s = (struct state){&holds, 1, h};
    return s;
}
static struct state *new_filter(double *buffer)
{
    struct state *s = calloc(1, sizeof *s);
    struct filter *h = calloc(1, sizeof *h);
    h->magic = 2;
    h->half = 6;
    h->step = 3000;
    h->table = table;
    h->buffer = buffer;
    *s = (struct state){&filters, 2, h};
    return s;
}
static double run(const double *x, int n)
{
    double buffer[8] = {0}, sum = 0;
    for (int kind = 0; kind < 2; kind++) {
        struct state *s = n % 3 == kind ? new_hold(buffer) : new_filter(buffer);
        sum += s->functions->run(s, x, n);
        s->functions->close(s);
        free(s);
    }
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(run, 3);
    CHECK_GRADIENT(run, 4);
    CHECK_GRADIENT(run, 5);
    return failures();
}
