// Structs returned by functions that are not inlined: in registers and through sret.
struct pair { double a, b; };
struct triple { double a, b, c; int k; };
static __attribute__((noinline)) struct pair rotate(double a, double b) { return (struct pair){a * b - b, a + b * b}; }
static __attribute__((noinline)) struct triple extend(struct pair p, double c) { return (struct triple){p.a * c, p.b, c * c, 2}; }
double struct_returned(double *x, int n) {
    struct pair p = rotate(x[0], x[1]);
    struct triple t = extend(p, x[2]);
    return t.a * t.b + t.c * t.k + p.a;
}
