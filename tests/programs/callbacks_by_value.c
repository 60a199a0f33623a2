/* Families of callbacks whose parameters are large structs by value: in IR these are all pointers, and what is called
 * is told by the structs alone. Some are as large as others. Two are static, and two are not. */
#include "selfcheck.h"

struct state { double position, speed, mass; };
struct counts { long steps, *seen, calls; }; /* as large */
struct rates { int batch; float rate, decay; int adam; float b1, b2; long t; };
struct layer {
    double (*run)(struct layer, struct state);
    void (*count)(struct layer, struct counts);
    void (*learn)(struct layer, struct rates);
    double *weights;
    int *visits;
    int number;
};

static double spring(struct layer a, struct state s)
{
    s.position *= a.weights[0]; /* in the callee's own copy */
    return sin(s.position) + a.weights[1] * s.speed * s.speed / s.mass;
}
double drag(struct layer a, struct state s) { return a.weights[0] * s.speed * fabs(s.speed) + s.mass * a.weights[2]; }
static void count_all(struct layer a, struct counts c)
{
    *c.seen += c.steps ^ c.calls;
    a.visits[c.steps & 1]++;
}
void count_none(struct layer a, struct counts c)
{
    *c.seen |= c.steps;
    a.visits[0] ^= (int)c.calls;
}
static void learn(struct layer a, struct rates r)
{
    a.weights[r.batch] -= r.rate * r.decay;
    a.visits[1] += r.adam + (int)r.t;
}
static void learn_nothing(struct layer a, struct rates r) { a.visits[1] ^= r.adam << r.batch; }

static void train(struct layer *layers, int n)
{
    struct rates r = {0, 0.5f, 0.25f, 1, 0.9f, 0.99f, 3};
    long seen = 0;
    for (int i = 0; i < n; i++) {
        struct counts c = {i, &seen, n};
        layers[i].learn(layers[i], r);
        layers[i].count(layers[i], c);
    }
}
static double simulate(struct layer *layers, double *at)
{
    struct state s = {at[0], at[1], at[2]};
    long seen = 0;
    double energy = 0;
    for (int step = 0; step < 4; step++)
        for (int i = 0; i < 2; i++) {
            double force = layers[i].run(layers[i], s);
            struct counts c = {step, &seen, i};
            layers[i].count(layers[i], c);
            s.speed += 0.1 * force / s.mass;
            s.position += 0.1 * s.speed;
            energy += force * s.position;
        }
    return energy + 0 * (double)seen;
}
static int visits[2];
static double f(const double *x, int n)
{
    double weights[3] = {x[3], x[4], x[5]}, at[3] = {x[0], x[1], x[2]};
    struct layer layers[2] = {
        {spring, count_all, learn, weights, visits, 0}, {drag, count_none, learn_nothing, weights, visits, 1}};
    return simulate(layers, at) * n;
}
/* The callbacks lie in memory that the caller has made. */
static double of_layers(struct layer *layers, double *at) { return simulate(layers, at); }
static void check_layers(int trained)
{
    double weights[3] = {0.7, 0.3, 1.1}, slopes[3] = {0}, at[3] = {0.4, 0.6, 1.3}, adjoints[3] = {0};
    int idle[2] = {0};
    struct layer layers[2] = {
        {spring, count_none, learn, weights, visits, 0}, {drag, count_all, learn_nothing, weights, visits, 1}};
    struct layer shadows[2] = {
        {spring, count_none, learn, slopes, idle, 0}, {drag, count_all, learn_nothing, slopes, idle, 1}};
    if (trained)
        train(layers, 2);
    __enzyme_autodiff_void((void *)of_layers, enzyme_dup, layers, shadows, enzyme_dup, at, adjoints);
    for (int i = 0; i < 6; i++) {
        double *v = i < 3 ? &weights[i] : &at[i - 3], kept = *v, h = 1e-4;
        *v = kept + h;
        double up = of_layers(layers, at);
        *v = kept - h;
        double down = of_layers(layers, at);
        *v = kept;
        expect_within("of layers", i, i < 3 ? slopes[i] : adjoints[i - 3], (up - down) / (2 * h), 1e-6);
    }
}
int main(int argc, char **argv)
{
    (void)argv;
    CHECK_EVERY_WAY(f, 6);
    check_layers(argc);
    return failures();
}
