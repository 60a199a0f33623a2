// A float and an int share a register.
struct mixed { float a; int k; };
struct three { float a, b, c; };
static __attribute__((noinline)) float g(struct mixed m, struct three t) { return m.a * (float)m.k + t.a * t.b * t.c; }
static __attribute__((noinline)) struct mixed h(float a, int k) { return (struct mixed){a * a, k + 1}; }
float small_struct_by_value(float *x, int n) {
    struct mixed m = h(x[0], 2);
    struct three t = {x[1], x[2], x[3]};
    return g(m, t) * g(h(x[4], m.k), t);
}
