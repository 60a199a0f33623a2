/* Objects of C with tables of functions, as libraries have them: each implementation casts the object's contents to a
 * type of its own, a float in one and a count in another at the same place. */
#include "selfcheck.h"
struct vector;
struct operations {
    struct vector *(*copy)(const struct vector *);
    void (*destroy)(struct vector *);
    double (*dot)(const struct vector *, const struct vector *);
    void (*scale)(double, struct vector *);
};
struct vector {
    void *content;
    struct operations *operations;
    double (*weigh)(struct vector *, double); /* in the object itself */
};
struct dense { long length; double *data; int owned; };
struct scaled_unit { double factor; long length; long where; };

static struct vector *shell(void)
{
    struct vector *v = (struct vector *)malloc(sizeof *v);
    v->content = NULL;
    v->operations = (struct operations *)malloc(sizeof *v->operations);
    v->operations->dot = NULL;
    v->operations->scale = NULL;
    v->weigh = NULL;
    return v;
}
static void release(struct vector *v)
{
    free(v->operations);
    free(v);
}
#define DENSE(v) ((struct dense *)(v)->content)
#define UNIT(v) ((struct scaled_unit *)(v)->content)
static struct vector *make_dense(long n);
static struct vector *dense_copy(const struct vector *v)
{
    struct vector *w = make_dense(DENSE(v)->length);
    memcpy(DENSE(w)->data, DENSE(v)->data, (size_t)DENSE(v)->length * sizeof(double));
    return w;
}
static void dense_destroy(struct vector *v)
{
    if (DENSE(v)->owned)
        free(DENSE(v)->data);
    free(v->content);
    release(v);
}
static double dense_dot(const struct vector *v, const struct vector *w)
{
    double sum = 0;
    for (long i = 0; i < DENSE(v)->length; i++)
        sum += DENSE(v)->data[i] * DENSE(w)->data[i];
    return sum;
}
static void dense_scale(double by, struct vector *v)
{
    for (long i = 0; i < DENSE(v)->length; i++)
        DENSE(v)->data[i] *= by;
}
static double dense_weigh(struct vector *v, double by) { return by * DENSE(v)->data[0] / DENSE(v)->length; }
static struct vector *make_dense(long n)
{
    struct vector *v = shell();
    struct dense *c = (struct dense *)malloc(sizeof *c);
    c->length = n;
    c->data = (double *)calloc((size_t)n, sizeof(double));
    c->owned = 1;
    v->content = c;
    v->operations->copy = dense_copy;
    v->operations->destroy = dense_destroy;
    v->operations->dot = dense_dot;
    v->operations->scale = dense_scale;
    v->weigh = dense_weigh;
    return v;
}
static struct vector *make_unit(long n, long where, double factor);
static struct vector *unit_copy(const struct vector *v)
{
    return make_unit(UNIT(v)->length, UNIT(v)->where, UNIT(v)->factor);
}
static void unit_destroy(struct vector *v)
{
    free(v->content);
    release(v);
}
static double unit_dot(const struct vector *v, const struct vector *w)
{
    return UNIT(v)->where == UNIT(w)->where ? UNIT(v)->factor * UNIT(w)->factor : 0;
}
static void unit_scale(double by, struct vector *v) { UNIT(v)->factor *= by; }
static double unit_weigh(struct vector *v, double by) { return sin(UNIT(v)->factor) * by * (UNIT(v)->where + 1); }
static struct vector *make_unit(long n, long where, double factor)
{
    struct vector *v = shell();
    struct scaled_unit *c = (struct scaled_unit *)malloc(sizeof *c);
    c->factor = factor;
    c->length = n;
    c->where = where;
    v->content = c;
    v->operations->copy = unit_copy;
    v->operations->destroy = unit_destroy;
    v->operations->dot = unit_dot;
    v->operations->scale = unit_scale;
    v->weigh = unit_weigh;
    return v;
}
static double f(const double *x, int n)
{
    struct vector *v[2];
    v[0] = make_dense(n);
    memcpy(DENSE(v[0])->data, x, (size_t)n * sizeof *x);
    v[1] = make_unit(n, 1, x[0] * x[1]);
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        struct vector *w = v[k]->operations->copy(v[k]);
        w->operations->scale(x[2], w);
        sum += w->operations->dot(w, v[k]) + w->weigh(w, x[n - 1]);
        w->operations->destroy(w);
    }
    for (int k = 0; k < 2; k++)
        v[k]->operations->destroy(v[k]);
    return sum;
}
int main(void) { CHECK_EVERY_WAY(f, 5); return failures(); }
