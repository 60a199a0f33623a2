import core.stdc.stdlib : malloc, free;
struct Rec { double k, sum; long count; }
extern(C):
double OTHER_leaf(double v, const(Rec)* r);
void OTHER_inner(Rec* r, long n, const(double)* x, double* y);
double ME_leaf(double v, const(Rec)* r) { return v * v * r.k + r.sum; }
void ME_inner(Rec* r, long n, const(double)* x, double* y) {
    foreach (i, v; x[0 .. n]) { y[i] = r.k * OTHER_leaf(v, r); r.sum += y[i] * v; r.count++; }
}
double ME_run(long n, const(double)* x) {
    auto r = Rec(x[0], x[1], 0);
    auto y = (cast(double*) malloc(n * double.sizeof))[0 .. n];
    scope(exit) free(y.ptr);
    OTHER_inner(&r, n, x, y.ptr);
    double s = 0;
    foreach (v; y) s += v * v * r.count;
    return s + r.sum;
}
