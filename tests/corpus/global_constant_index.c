// Elements of static arrays at constant indices: written, copied, cleared, passed on.
#include <string.h>
static double g[8], h[4];
struct state { int k; double v[3]; };
static struct state state;
static __attribute__((noinline)) double twice(double *p) { return *p *= 2 * p[1]; }
double global_constant_index(double *x, int n) {
    g[2] = x[0] * x[1];
    g[3] = x[2];
    memcpy(g + 5, x + 3, 2 * sizeof(double));
    h[1] = g[2] * g[5];
    memmove(h + 2, g + 2, sizeof(double));
    state.v[1] = h[1] * h[2];
    state.v[2] = twice(&g[2]) + twice(state.v + 1);
    memset(g + 5, 0, sizeof(double));
    double s = state.v[2] * g[2] + g[5] * x[4] + g[6] + h[2];
    memset(g, 0, sizeof g);
    memset(h, 0, sizeof h);
    memset(&state, 0, sizeof state);
    return s;
}
