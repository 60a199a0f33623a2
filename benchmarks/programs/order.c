/* Small loops, each of which LLVM changes in its own way before it is differentiated: see order.py, which defines LOOP
   as the name of one of them. */
#include "program.h"

#define OF(name) OBJECTIVE double name(int n, const double *restrict x, double *restrict w)
static const double c[12] = {0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 1.1};

/* Branches that become selects. */
OF(branches)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i];
        if (v > 0.3)
            s += v * v * 1.5;
        else if (v > 0)
            s -= v * 0.25;
        else
            s += v * v * v;
    }
    return s;
}

/* A rare branch with costly mathematics. */
OF(rare)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i];
        if (v > 0.999) v = exp(sin(v)) * cos(v);
        s += v * v;
    }
    return s;
}

/* A quotient that one side needs. */
OF(guarded_div)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i];
        double r = v > 0.5 ? 1 / (v * v + 1) : v;
        s += r * r;
    }
    return s;
}

/* A root that one side needs. */
OF(guarded_sqrt)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i];
        double r = v > 0.9 ? sqrt(v) : v * v;
        s += r;
    }
    return s;
}

/* Loads that are carried to the next iteration. */
OF(stencil)
{
    double s = 0;
    for (int i = 1; i + 1 < n; i++) {
        double v = x[i - 1] * x[i] * x[i + 1];
        s += v * v;
    }
    return s;
}

/* The same, and a sine with them. */
OF(stencil_sin)
{
    double s = 0;
    for (int i = 1; i + 1 < n; i++) {
        double v = sin(x[i - 1]) * x[i] + x[i + 1];
        s += v * v;
    }
    return s;
}

/* The same, written by hand. */
OF(carry)
{
    double s = 0, p = x[0];
    for (int i = 1; i < n; i++) {
        s += p * x[i] * x[i];
        p = x[i];
    }
    return s;
}

/* A running maximum. */
OF(maxscan)
{
    double m = x[0], s = 0;
    for (int i = 1; i < n; i++) {
        if (x[i] > m) m = x[i];
        s += m * x[i];
    }
    return s;
}

/* A short loop of constant length. */
OF(horner)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double p = 0;
        for (int k = 0; k < 12; k++) p = p * x[i] + c[k];
        s += p;
    }
    return s;
}

/* A power by a loop. */
OF(pow_int)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double p = 1;
        for (int k = 0; k < 7; k++) p *= x[i];
        s += p;
    }
    return s;
}

/* Common subexpressions. */
OF(reuse)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double a = x[i];
        s += a * a + a * a * a + (a + 1) * (a + 1) * a;
    }
    return s;
}

/* Several cases in turn. */
OF(cases)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i];
        switch (i % 5) {
            case 0: s += v * v; break;
            case 1: s += sin(v); break;
            case 2: s += v * v * v; break;
            case 3: s -= exp(v); break;
            default: s += v;
        }
    }
    return s;
}

/* Two bounds. */
OF(clamp)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i];
        if (v < 0.2) v = 0.2;
        if (v > 0.8) v = 0.8;
        s += v * v;
    }
    return s;
}

/* A short iteration. */
OF(newton)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double y = x[i] + 1, v = x[i] + 1;
        for (int k = 0; k < 6; k++) y = 0.5 * (y + v / y);
        s += y;
    }
    return s;
}

/* An index computed from a float. */
OF(table)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        int k = (int)(x[i] * 11.99);
        s += c[k] * x[i] * x[i];
    }
    return s;
}

/* Sine and cosine, which one iteration of 16 needs. */
OF(dead)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double a = sin(x[i]), b = cos(x[i]);
        s += i % 16 == 0 ? a * b : x[i];
    }
    return s;
}

/* A condition that no iteration changes. */
OF(unswitch)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        if (n > 100)
            s += x[i] * x[i] * x[i];
        else
            s += sin(x[i]);
    }
    return s;
}

/* Blocks, read from both ends. */
OF(nested)
{
    double s = 0;
    int m = 64;
    for (int i = 0; i + m < n; i += m) {
        double t = 0;
        for (int j = 0; j < m; j++) t += x[i + j] * x[i + m - 1 - j];
        s += t * t;
    }
    return s;
}

/* Sums into a few places. */
OF(accum)
{
    for (int i = 0; i < n; i++) w[i] = 0;
    for (int i = 0; i < n; i++) w[i % 64] += x[i] * x[i];
    double s = 0;
    for (int i = 0; i < 64; i++) s += w[i] * w[i];
    return s;
}

/* A stencil in place, several times. */
OF(smooth)
{
    for (int i = 0; i < n; i++) w[i] = x[i];
    for (int r = 0; r < 4; r++)
        for (int i = 1; i + 1 < n; i++) w[i] = 0.5 * w[i] + 0.25 * (w[i - 1] * w[i - 1] + w[i + 1]);
    double s = 0;
    for (int i = 0; i < n; i++) s += w[i] * w[i];
    return s;
}

/* Two arrays in turn. */
OF(pingpong)
{
    double *a = w, *b = w + n;
    for (int i = 0; i < n; i++) a[i] = x[i];
    for (int r = 0; r < 4; r++) {
        for (int i = 1; i + 1 < n; i++) b[i] = a[i] * (1 - 0.1 * (a[i - 1] + a[i + 1]));
        b[0] = a[0];
        b[n - 1] = a[n - 1];
        double *t = a;
        a = b;
        b = t;
    }
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * a[i];
    return s;
}

/* A loss with a kink. */
OF(huber)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i] - 0.5, a = fabs(v);
        s += a < 0.1 ? 0.5 * v * v : 0.1 * (a - 0.05);
    }
    return s;
}

/* A limiter of slopes: a branch with a select in it. */
OF(minmod)
{
    double s = 0;
    for (int i = 1; i + 1 < n; i++) {
        double a = x[i] - x[i - 1], b = x[i + 1] - x[i];
        double m = a * b <= 0 ? 0 : fabs(a) < fabs(b) ? a : b;
        s += (x[i] + 0.5 * m) * (x[i] + 0.5 * m);
    }
    return s;
}

/* Differences taken upwind. */
OF(upwind)
{
    double s = 0;
    for (int i = 1; i + 1 < n; i++) {
        double v = x[i] - 0.5;
        double g = v > 0 ? v * (x[i] - x[i - 1]) : v * (x[i + 1] - x[i]);
        s += g * g;
    }
    return s;
}

/* Iterations that end early. */
OF(early)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < 0.01) continue;
        double l = log(x[i]);
        if (l < -2) continue;
        s += l * l * sqrt(x[i]);
    }
    return s;
}

/* A search in a table. */
OF(search)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < 11 && c[k] < x[i]) k++;
        s += c[k] * x[i] + x[i] * x[i];
    }
    return s;
}

static double *x, *w, *d_x, *d_w;
static int n;

void setup(int size)
{
    n = size;
    x = realloc(x, n * sizeof *x), d_x = realloc(d_x, n * sizeof *x);
    w = realloc(w, 2 * n * sizeof *x), d_w = realloc(d_w, 2 * n * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = noise(i);
}

double primal(void) { return LOOP(n, x, w); }

void gradient(void)
{
    memset(d_x, 0, n * sizeof *x), memset(d_w, 0, 2 * n * sizeof *x);
    __enzyme_autodiff((void *)LOOP, enzyme_const, n, enzyme_dup, x, d_x, enzyme_dup, w, d_w);
}

double *derivative(int *count) { return *count = n, d_x; }
