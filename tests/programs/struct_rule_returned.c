/* Rules of functions that return structs through memory: the seed is a struct, too; lanes, both modes, a constant result. */
#include "selfcheck.h"
typedef struct { double a, b, c; } three;
typedef struct { void *tape; three value; } kept;
typedef struct { three value, tangent; } both;
typedef struct { double lanes[2]; } two;
extern two __enzyme_autodiff_two(void *, ...);
static int ahead, back, along;
__attribute__((noinline)) three powers(double x, const double *y)
{
    return (three){x * y[0], x * x * y[0], y[0] * y[0]};
}
kept powers_fwd(double x, const double *y, double *dy)
{
    double *tape = malloc(2 * sizeof *tape);
    tape[0] = x, tape[1] = y[0];
    ahead++;
    return (kept){tape, powers(x, y)};
}
double powers_rev(double x, const double *y, double *dy, three seed, void *given)
{
    double *tape = given, v = tape[0], w = tape[1];
    free(given);
    back++;
    dy[0] += seed.a * v + seed.b * v * v + seed.c * 2 * w;
    return seed.a * w + seed.b * 2 * v * w;
}
both powers_tan(double x, double dx, const double *y, const double *dy)
{
    along++;
    three t = {dx * y[0] + x * dy[0], 2 * x * dx * y[0] + x * x * dy[0], 2 * y[0] * dy[0]};
    return (both){powers(x, y), t};
}
void *__enzyme_register_gradient_powers[] = {(void *)powers, (void *)powers_fwd, (void *)powers_rev};
void *__enzyme_register_derivative_powers[] = {(void *)powers, (void *)powers_tan};

/* Without value and tape: the function itself is called for its value. */
__attribute__((noinline)) three scaled(double x) { return (three){x, 2 * x, 3 * x}; }
void scaled_fwd(double x) { ahead++; }
double scaled_rev(double x, three seed) { back++; return seed.a + 2 * seed.b + 3 * seed.c; }
three scaled_tan(double x, double dx) { along++; return (three){dx, 2 * dx, 3 * dx}; }
void *__enzyme_register_gradient_scaled[] = {(void *)scaled, (void *)scaled_fwd, (void *)scaled_rev};
void *__enzyme_register_derivative_scaled[] = {(void *)scaled, (void *)scaled_tan};

static double f(double x, int n)
{
    double y[1] = {x * x}, s = 0;
    three p = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        p = powers(x + 0.1 * i, y);
        y[0] = 0.1 * p.b + 0.2 * p.c;
        s += sin(p.a) * p.c;
        three q = scaled(s);
        s = q.a + 0.1 * q.b * q.c;
        p = scaled(i);
    }
    return s + p.a;
}
int main(void)
{
    double x = 0.7, h = 1e-3, near[4];
    for (int i = 0; i < 4; i++)
        near[i] = f(x + stencil_steps[i] * h, 3);
    double slope = stencil(near, h);
    expect("gradient", 0, __enzyme_autodiff((void *)f, enzyme_out, x, enzyme_const, 3), slope);
    expect("tangent", 0, __enzyme_fwddiff((void *)f, enzyme_dup, x, 1.0, enzyme_const, 3), slope);
    expect("rules", 0, ahead + 10 * back + 100 * along, 9 + 90 + 900);
    two lanes = __enzyme_autodiff_two((void *)f, enzyme_width, 2, enzyme_out, x, enzyme_const, 3);
    expect("lane", 0, lanes.lanes[0], slope);
    expect("lane", 1, lanes.lanes[1], slope);
    double again = __enzyme_autodiff((void *)f, enzyme_runtime_activity, enzyme_out, x, enzyme_const, 3);
    expect("runtime activity", 0, again, slope);
    return failures();
}
