// Structs of sixteen bytes: two registers, of which one or both hold floats beside integers.
struct one { double d; float f; int k; };
struct two { float f; int k; double d; };
struct three { float a, b, c; int k; };
struct four { int k; float a; float b; float c; };
struct five { float v[4]; };
struct six { short h; float f; long n; };
static __attribute__((noinline)) struct one f1(double d, int k) { return (struct one){d * d, (float)d, k}; }
static __attribute__((noinline)) struct two f2(struct one s) { return (struct two){s.f * (float)s.k, s.k + 1, s.d}; }
static __attribute__((noinline)) struct three f3(struct two s) { return (struct three){s.f, (float)s.d, s.f, s.k}; }
static __attribute__((noinline)) struct four f4(struct three s) { return (struct four){s.k, s.a * s.b, s.c, s.a}; }
static __attribute__((noinline)) struct five f5(struct four s) {
    struct five r = {{s.a, s.b, s.c, 1}};
    r.v[3] = r.v[s.k & 1];
    return r;
}
static __attribute__((noinline)) struct six f6(struct five s) { return (struct six){2, s.v[0] * s.v[3] + s.v[1], 5}; }
static __attribute__((noinline)) struct five swapped(struct five s) {
    return (struct five){{s.v[1], s.v[0], s.v[3], s.v[2]}};
}
double register_wide(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        struct one a = f1(x[i], i);
        struct three b = f3(f2(a));
        struct five c = swapped(f5(f4(b)));
        struct six d = f6(c);
        s += a.d * (double)d.f + (double)d.n * (double)c.v[1] + (double)d.h * a.f;
    }
    return s;
}
