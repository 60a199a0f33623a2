/* Methods that are registered as the program runs; their functions are called without a prototype, as in K&R's C. */
#include "selfcheck.h"
#include <stdlib.h>
#include <string.h>
#pragma clang diagnostic ignored "-Wdeprecated-non-prototype"
struct state { double weight; int steps; };
struct method { const char *name; void *(*create)(); double (*step)(struct state *, double); void (*release)(); };
static void *create_plain() { struct state *s = calloc(1, sizeof *s); s->weight = 1.5; s->steps = 2; return s; }
static void *create_fine() { struct state *s = calloc(1, sizeof *s); s->weight = 0.5; s->steps = 5; return s; }
static double step_plain(struct state *s, double x) { s->steps++; s->weight *= x; return s->weight * s->steps; }
static double step_fine(struct state *s, double x) { s->steps += 2; s->weight += sin(x); return s->weight * s->steps; }
static void release(struct state *s) { free(s); }
static struct method known[4] = {{"plain", create_plain, step_plain, release}};
static int count = 1;
static const char *wanted;
__attribute__((noinline)) static void add(struct method m) { known[count++] = m; }
static double f(double x)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        if (!strcmp(known[i].name, wanted)) {
            struct state *s = known[i].create();
            for (int k = 0; k < 3; k++) sum += known[i].step(s, x + k);
            known[i].release(s);
        }
    return sum;
}
int main(void)
{
    add((struct method){"fine", create_fine, step_fine, release});
    wanted = "plain";
    CHECK_SLOPE(f, 0.83);
    wanted = "fine";
    CHECK_SLOPE(f, 1.77);
    return failures();
}
