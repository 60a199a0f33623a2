// A struct passed by value to a function that is not inlined: in registers and in memory.
struct pair { double a, b; };
struct large { double v[5]; int k; };
static __attribute__((noinline)) double small(struct pair p) { return p.a * p.b; }
static __attribute__((noinline)) double large(struct large l) { l.v[0] *= l.v[l.k]; return l.v[0] + l.v[4]; }
double struct_by_value(double *x, int n) {
    struct pair p = {x[0], x[1]};
    struct large l = {{x[0], x[1], x[2], x[3], x[4]}, 2};
    double s = small(p) * large(l);
    return s + l.v[0];
}
