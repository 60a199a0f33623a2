// A float and an int in one register: the int is counted, compared and tested while the float stays.
struct mixed { float a; int k; };
struct counted { int k; float a; };
static __attribute__((noinline)) struct mixed next(struct mixed m) { return (struct mixed){m.a, m.k + 1}; }
static __attribute__((noinline)) struct mixed flagged(struct mixed m) { m.k |= 4; return m; }
static __attribute__((noinline)) struct counted first(float a) { return (struct counted){3, a * a}; }
static __attribute__((noinline)) struct counted more(struct counted c) { c.k ^= 1; c.a *= (float)c.k; return c; }
static __attribute__((noinline)) float use(struct mixed m, const float *x) { return m.k < 0 ? m.a : m.a * x[m.k & 3]; }
static __attribute__((noinline)) int positive(struct mixed m) { return m.k > 0; }
float register_mixed(float *x, int n) {
    struct mixed m = {x[0] * x[1], -2};
    float s = 0;
    for (int i = 0; i < n; i++) {
        m = next(m);
        if (m.k == 2) m = flagged(m);
        s += use(m, x) * x[i] + (positive(m) ? m.a : 0);
    }
    struct counted c = more(first(s));
    return c.a + first(x[2]).a * (float)c.k;
}
