import core.stdc.stdlib : malloc, free;
struct Two { double x, y; }
struct Vec { double x, y, z; }
struct Model { double k; double[] w; }
extern(C):
alias Callback = double function(void*, double);
Two OTHER_two(Two a, double k);
Vec OTHER_vec(Vec a, double k);
void* OTHER_make(double k);
double OTHER_use(void* h, double v);
void OTHER_drop(void* h);
double OTHER_apply(Callback f, void* c, long n, const(double)* x);
Two ME_two(Two a, double k) { return Two(a.x * k, a.y + k); }
Vec ME_vec(Vec a, double k) { return Vec(a.x * k, a.y + k, a.z * a.x); }
void* ME_make(double k) {
    auto m = cast(Model*) malloc(Model.sizeof);
    m.k = k;
    m.w = (cast(double*) malloc(8))[0 .. 1];
    m.w[0] = k * k;
    return m;
}
double ME_use(void* h, double v) { auto m = cast(Model*) h; m.k += v; return m.k * m.w[0] * v; }
void ME_drop(void* h) { free((cast(Model*) h).w.ptr); free(h); }
double ME_apply(Callback f, void* c, long n, const(double)* x) {
    double s = 0;
    foreach (v; x[0 .. n]) s += f(c, v) * x[0];
    return s;
}
double ME_callback(void* c, double v) { return *cast(double*) c * v * v; }
double ME_run(long n, const(double)* x) {
    auto t = OTHER_two(Two(x[0], x[1]), x[2]);
    auto v = OTHER_vec(Vec(x[1], x[2], x[3]), x[3]);
    auto h = OTHER_make(x[0]);
    double s = t.x * t.y + v.x * v.y * v.z;
    foreach (w; x[0 .. n]) s += OTHER_use(h, w);
    OTHER_drop(h);
    double k = x[3] * x[3];
    return s + OTHER_apply(&ME_callback, &k, n, x);
}
