/* Pointers, sizes and indices that lie behind a struct pointer, where memory overlaps in every way: buffers with each
   other, with the indices' range, with the struct that leads to them. Beside finite differences. */
#include "selfcheck.h"

enum { CELLS = 40 };

struct net { int width, depth; double *weights, *table, *state, *next; };
struct outer { long unused; struct net *net; const int *token; };

/* Weights are read at known places, the table at places that `token` says; the state is overwritten at each step. */
__attribute__((noinline)) void run(struct outer *o, int count)
{
    struct net *n = o->net;
    int w = n->width;
    for (int t = 0; t < count; t++) {
        for (int i = 0; i < w; i++)
            n->state[i] += 0.3 * n->table[o->token[t] * w + i];
        for (int l = 0; l < n->depth; l++) {
            for (int i = 0; i < w; i++) {
                double sum = 0.01;
                for (int j = 0; j < w; j++)
                    sum += sin(n->weights[(l * w + i) * w + j]) * n->state[j];
                n->next[i] = sin(0.2 * sum);
            }
            for (int i = 0; i < w; i++)
                n->state[i] = sin(n->next[i]) + 0.5 * cos(n->state[i]) * n->state[(o->token[t] + 7) % w];
        }
    }
}

/* Where weights, table, state and next lie (weights: 8, table: 2 * (tokens), state and next: 2). */
static const int places[][4] = {
    {0, 12, 20, 30}, {0, 12, 20, 20}, {0, 12, 20, 21}, {0, 12, 6, 30}, {0, 12, 30, 7}, {0, 12, 8, 30}, {2, 12, 0, 30},
    {2, 12, 1, 30}, {0, 12, 14, 30}, {0, 12, 30, 10}, {12, 3, 20, 30}, {5, 5, 5, 5}, {0, 4, 12, 10},
};
static const int tokens[] = {0, 2, 1, -1, 0};

static double weighed(const int *at, int depth, int count, double *cells)
{
    double sum = 0, copy[CELLS];
    memcpy(copy, cells, sizeof copy);
    struct net n = {2, depth, copy + at[0], copy + at[1], copy + at[2], copy + at[3]};
    struct outer o = {0, &n, tokens};
    run(&o, count);
    for (int i = 0; i < CELLS; i++)
        sum += (0.1 + 0.03 * i) * copy[i];
    return sum;
}

static void layers(int depth, int count)
{
    for (unsigned k = 0; k < sizeof places / sizeof places[0]; k++) {
        const int *at = places[k];
        double before[CELLS], cells[CELLS], d[CELLS], t[CELLS], along = 0, by = 0;
        sample(before, CELLS);
        memcpy(cells, before, sizeof cells);
        for (int i = 0; i < CELLS; i++)
            d[i] = 0.1 + 0.03 * i;
        struct net n = {2, depth, cells + at[0], cells + at[1], cells + at[2], cells + at[3]};
        struct net s = {2, depth, d + at[0], d + at[1], d + at[2], d + at[3]};
        struct outer o = {0, &n, tokens}, p = {0, &s, NULL};
        __enzyme_autodiff_void((void *)run, enzyme_dup, &o, &p, enzyme_const, count);
        for (int i = 0; i < CELLS; i++) {
            double v[4];
            for (int s = 0; s < 4; s++) {
                before[i] += 1e-3 * stencil_steps[s];
                v[s] = weighed(at, depth, count, before);
                before[i] -= 1e-3 * stencil_steps[s];
            }
            expect("layers", (int)(1000 * k) + i, d[i], stencil(v, 1e-3));
        }
        memcpy(cells, before, sizeof cells);
        for (int i = 0; i < CELLS; i++)
            t[i] = cos(i), along += d[i] * t[i];
        s.weights = t + at[0], s.table = t + at[1], s.state = t + at[2], s.next = t + at[3];
        __enzyme_fwddiff_void((void *)run, enzyme_dup, &o, &p, enzyme_const, count);
        for (int i = 0; i < CELLS; i++)
            by += (0.1 + 0.03 * i) * t[i];
        expect("layers forward", (int)k, by, along);
    }
}

/* Nothing is read where no iteration runs: the pointers may lead nowhere. */
static void nothing(void)
{
    struct net n = {2, 1, NULL, NULL, NULL, NULL}, s = n;
    struct outer o = {0, &n, NULL}, p = {0, &s, NULL}, q = {0, NULL, NULL};
    __enzyme_autodiff_void((void *)run, enzyme_dup, &o, &p, enzyme_const, 0);
    __enzyme_autodiff_void((void *)run, enzyme_dup, &o, &p, enzyme_const, -3);
    double cells[8], d[8];
    sample(cells, 8);
    n.state = cells, s.state = d, n.table = cells + 4, s.table = d + 4, n.depth = 0, o.token = tokens;
    for (int i = 0; i < 8; i++)
        d[i] = 1;
    __enzyme_autodiff_void((void *)run, enzyme_dup, &o, &p, enzyme_const, 1);  /* no weights where there is no layer */
    expect("no layer", 4, d[4], 1.3);
    expect("no layer", 6, d[6], 1);
    (void)q;
}

/* What is written may be the size, and the pointers, that the loop reads. */
struct list { long n; double *x, *y; long *count; double **slot; };

__attribute__((noinline)) void shorten(struct list *l)
{
    for (long i = 0; i < l->n; i++) {
        double *x = l->x;
        l->y[i] = x[i] * x[i] * l->y[i];
        l->count[0] = 3;
        l->slot[0] = l->y + 1;
    }
}

static void changed(int size, int pointer)
{
    double x[8], y[8], dx[8], dy[8], *other, *d_other;
    long count = 0, d_count = 0;
    sample(x, 8);
    for (int i = 0; i < 8; i++)
        y[i] = 1 + 0.1 * i, dx[i] = 0, dy[i] = 1;
    struct list l = {6, x, y, &count, &other}, d = {6, dx, dy, &d_count, &d_other};
    if (size)
        l.count = &l.n, d.count = &d.n;
    if (pointer)
        l.slot = &l.x, d.slot = &d.x;
    int n = size ? 3 : 6;
    double wanted[8] = {0}, before[8];
    for (int k = 0; k < 8; k++) {
        double v[4];
        for (int s = 0; s < 4; s++) {
            memcpy(before, y, sizeof y);
            x[k] += 1e-3 * stencil_steps[s];
            const double *from = x;
            v[s] = 0;
            for (int i = 0; i < n; i++) {
                before[i] = from[i] * from[i] * before[i];
                from = pointer ? before + 1 : from;
            }
            for (int i = 0; i < 8; i++)
                v[s] += before[i];
            x[k] -= 1e-3 * stencil_steps[s];
        }
        wanted[k] = stencil(v, 1e-3);
    }
    __enzyme_autodiff_void((void *)shorten, enzyme_dup, &l, &d);
    for (int k = 0; k < 8; k++)
        expect("changed", 100 * size + 10 * pointer + k, dx[k], wanted[k]);
}

/* So many pointers that the test of their ranges is a loop over a table. */
struct many { double *a, *b, *c, *d, *e, *f, *g, *h, *i, *j, *k, *l; };

__attribute__((noinline)) void chain(struct many *m, int n)
{
    for (int t = 0; t < n; t++)
        for (int x = 0; x < 3; x++) {
            m->g[x] += 0.1 * sin(m->a[x]) * m->b[x];
            m->h[x] += 0.1 * m->g[x] * m->c[x];
            m->i[x] += 0.1 * m->h[x] * m->d[x];
            m->j[x] += 0.1 * cos(m->i[x]) * m->e[x];
            m->k[x] += 0.1 * m->j[x] * m->f[x];
            m->l[x] += 0.1 * sin(m->k[x]);
        }
}

static struct many over(double *at, int last, int second)
{
    struct many m = {at, at + second, at + 6, at + 9, at + 12, at + 15, at + 18, at + 21, at + 24, at + 27, at + 30, at + last};
    return m;
}

static void tabled(void)
{
    for (int shift = 0; shift < 4; shift++) {
        double cells[36], d[36];
        int last = shift & 1 ? 31 : 33, second = shift & 2 ? 23 : 3;
        sample(cells, 36);
        for (int i = 0; i < 36; i++)
            d[i] = 0.1 + 0.01 * i;
        struct many m = over(cells, last, second), s = over(d, last, second);
        __enzyme_autodiff_void((void *)chain, enzyme_dup, &m, &s, enzyme_const, 2);
        for (int k = 0; k < 36; k++) {
            double v[4];
            for (int q = 0; q < 4; q++) {
                sample(cells, 36);
                cells[k] += 1e-3 * stencil_steps[q];
                chain(&m, 2);
                v[q] = 0;
                for (int i = 0; i < 36; i++)
                    v[q] += (0.1 + 0.01 * i) * cells[i];
            }
            expect("tabled", 100 * shift + k, d[k], stencil(v, 1e-3));
        }
    }
}

/* The size is read again after each call; what is called is given pointers and size. */
struct pair { int w; double *a, *b; };

static __attribute__((noinline)) void add(int n, double *to, const double *from)
{
    for (int i = 0; i < n; i++)
        to[i] = 0.5 * to[i] + sin(from[i]);
}

__attribute__((noinline)) void twice(struct pair *s, int n)
{
    for (int t = 0; t < n; t++) {
        add(s->w, s->b, s->a);
        add(s->w, s->b, s->a + s->w);
        for (int i = 0; i < s->w; i++)
            s->b[i] *= 0.3 * s->b[i];
    }
}

static void called(void)
{
    for (int place = 0; place < 9; place++) {
        double cells[12], d[12];
        sample(cells, 12);
        for (int i = 0; i < 12; i++)
            d[i] = 0.1 + 0.01 * i;
        struct pair m = {3, cells, cells + place}, s = {3, d, d + place};
        __enzyme_autodiff_void((void *)twice, enzyme_dup, &m, &s, enzyme_const, 3);
        for (int k = 0; k < 12; k++) {
            double v[4];
            for (int q = 0; q < 4; q++) {
                sample(cells, 12);
                cells[k] += 1e-3 * stencil_steps[q];
                twice(&m, 3);
                v[q] = 0;
                for (int i = 0; i < 12; i++)
                    v[q] += (0.1 + 0.01 * i) * cells[i];
            }
            expect("called", 100 * place + k, d[k], stencil(v, 1e-3));
        }
    }
}

int main(void)
{
    tabled();
    called();
    layers(2, 3);
    layers(1, 4);
    layers(2, 0);
    nothing();
    changed(0, 0);
    changed(1, 0);
    changed(0, 1);
    return failures();
}
