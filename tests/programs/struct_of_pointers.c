/* Buffers that a struct owns. */
#include "selfcheck.h"
struct state { double *position, *velocity; int n; };
static void step(struct state *s, double h)
{
    for (int i = 0; i < s->n; i++) {
        s->velocity[i] -= h * sin(s->position[i]);
        s->position[i] += h * s->velocity[i];
    }
}
static double f(const double *x, int n)
{
    struct state s = {(double *)malloc(n * sizeof(double)), (double *)calloc(n, sizeof(double)), n};
    memcpy(s.position, x, n * sizeof(double));
    for (int k = 0; k < 10; k++)
        step(&s, 0.1);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += s.velocity[i] * s.velocity[i] / 2 - cos(s.position[i]);
    free(s.position);
    free(s.velocity);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
