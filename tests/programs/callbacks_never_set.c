/* An integrator with hooks of the user's, of which the program sets some: those that it never sets have no callees. */
#include "selfcheck.h"
struct simulation;
struct particle { double x, v; struct simulation *owner; };
struct hooks {
    void (*force)(struct simulation *, double *);
    void (*before)(struct simulation *);
    void (*after)(struct simulation *);
    double (*restitution)(const struct simulation *, double);
    int (*merge)(struct simulation *, struct particle *, struct particle *);
    void (*release)(struct particle *);
};
struct simulation {
    struct particle *particles;
    int count, allocated;
    struct hooks hooks;
    void *extra;
    double dt;
};
static struct simulation *make(double dt)
{
    struct simulation *s = (struct simulation *)calloc(1, sizeof *s);
    s->dt = dt;
    return s;
}
static void add(struct simulation *s, struct particle p)
{
    if (s->count == s->allocated) {
        s->allocated = s->allocated ? 2 * s->allocated : 2;
        s->particles = (struct particle *)realloc(s->particles, (size_t)s->allocated * sizeof p);
    }
    p.owner = s;
    s->particles[s->count++] = p;
}
static void springs(struct simulation *s, double *a)
{
    for (int i = 0; i < s->count; i++)
        a[i] = -sin(s->particles[i].x) + (i ? s->particles[i - 1].x - s->particles[i].x : 0);
}
static void collide(struct simulation *s)
{
    for (int i = 1; i < s->count; i++)
        if (s->particles[i].x < s->particles[i - 1].x) {
            double v = s->particles[i].v;
            double e = s->hooks.restitution ? s->hooks.restitution(s, v) : 0.9;
            s->particles[i].v = e * s->particles[i - 1].v;
            s->particles[i - 1].v = e * v;
            if (s->hooks.merge && s->hooks.merge(s, &s->particles[i], &s->particles[i - 1]))
                s->count--;
        }
}
static void step(struct simulation *s)
{
    double *a = (double *)malloc((size_t)s->count * sizeof *a);
    if (s->hooks.before)
        s->hooks.before(s);
    s->hooks.force(s, a);
    for (int i = 0; i < s->count; i++) {
        s->particles[i].v += s->dt * a[i];
        s->particles[i].x += s->dt * s->particles[i].v;
    }
    collide(s);
    if (s->hooks.after)
        s->hooks.after(s);
    free(a);
}
static void destroy(struct simulation *s)
{
    if (s->hooks.release)
        for (int i = 0; i < s->count; i++)
            s->hooks.release(&s->particles[i]);
    free(s->particles);
    free(s);
}
static double f(const double *x, int n)
{
    struct simulation *s = make(0.05);
    s->hooks.force = springs;
    for (int i = 0; i < n; i++) {
        struct particle p = {x[i], 0.1 * i * x[i], 0};
        add(s, p);
    }
    for (int t = 0; t < 20; t++)
        step(s);
    double sum = 0;
    for (int i = 0; i < s->count; i++)
        sum += s->particles[i].x * (i + 1) + s->particles[i].v;
    destroy(s);
    return sum;
}
int main(void) { CHECK_EVERY_WAY(f, 5); return failures(); }
