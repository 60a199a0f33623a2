// A tag says whether a union holds a double or an integer.
struct variant { int tag; union { double d; long i; } u; };
static __attribute__((noinline)) double value(const struct variant *v) { return v->tag ? v->u.d : (double)v->u.i; }
double tagged_variant(double *x, int n) {
    struct variant v[6];
    double s = 1;
    for (int i = 0; i < 6; i++) {
        v[i].tag = i % 2;
        if (i % 2) v[i].u.d = x[i] * x[0];
        else v[i].u.i = i + 1;
    }
    for (int i = 0; i < 6; i++) s += s * value(&v[i]) * 0.1;
    return s;
}
