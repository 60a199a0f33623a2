/* A solver in the style of C libraries: what callbacks are handed as `void *` is the solver itself, or the caller's
 * parameters. The solver's own callback takes pointers and functions from there, which the parameters do not hold. */
#include "selfcheck.h"

struct vector { double *values; double (*norm)(const struct vector *); };
typedef double rate_t(double, const struct vector *, void *);
typedef void correct_t(double, struct vector *, void *);

struct solver {
    struct vector *state;
    rate_t *rate, *slope;
    void *rate_data, *slope_data;
    correct_t *correct;  /* nobody sets it */
    double step;
};

static double largest(const struct vector *v) { return v->values[0] > v->values[1] ? v->values[0] : v->values[1]; }

static struct vector *made(double a, double b) {
    struct vector *v = malloc(sizeof *v);
    v->values = malloc(2 * sizeof(double));
    v->values[0] = a, v->values[1] = b, v->norm = largest;
    return v;
}

static double own_slope(double t, const struct vector *v, void *data) {
    struct solver *s = data; /* the solver's own */
    if (s->correct) s->correct(t, s->state, s->rate_data);
    return (s->rate(t + 1e-3, s->state, s->rate_data) - s->rate(t, v, s->rate_data)) * 1e3 + s->state->norm(v);
}

static double users_rate(double t, const struct vector *v, void *data) {
    const double *p = data;
    return p[0] * v->values[0] + p[1] * t * v->values[1];
}

__attribute__((noinline)) static void set_slope(struct solver *s, rate_t *slope, void *data) {
    s->slope = slope ? slope : own_slope;
    s->slope_data = slope ? data : s;
}

__attribute__((noinline)) static void advance(struct solver *s, int steps) {
    for (int n = 0; n < steps; n++) {
        double t = n * s->step, *y = s->state->values;
        y[0] += s->step * s->rate(t, s->state, s->rate_data);
        y[1] += s->step * s->slope(t, s->state, s->slope_data);
    }
}

static double solved(const double *p, int own)
{
    struct solver *s = calloc(1, sizeof *s);
    s->state = made(1, p[1]);
    s->rate = users_rate, s->rate_data = (void *)p, s->step = 0.05;
    set_slope(s, own ? 0 : users_rate, (void *)p);
    advance(s, 20);
    double r = s->state->values[0] * s->state->values[1];
    free(s->state->values), free(s->state), free(s);
    return r;
}

static double f(const double *p, int n) { return solved(p, 0) + n * solved(p, 1); }

int main(void)
{
    CHECK_GRADIENT(f, 2);
    return failures();
}
