// A function that is chosen as the program runs, with structs by value, in registers and in memory, and under a handler.
#include "selfcheck.h"
#include <stdexcept>
struct R { double a, b, c; }; struct D3 { double x, y, z; }; struct D2 { float a, b; };
template <class T, class... A> T __enzyme_autodiff(void *, A...);
template <class T, class... A> T __enzyme_fwddiff(void *, A...);
static double f(double x, double y, double z) { if (x < 0) throw std::runtime_error("f"); return x * y * z; }
static double g(double x, double y, double z) { return x + y * z; }
static double (*const table[])(double, double, double) = {f, g};
static double p(D3 s, D2 t, double w) { return s.x * s.y * w + s.z * t.a * t.b; }
static double q(D3 s, D2 t, double w) { return s.x + s.y * s.z * w * t.b - t.a; }
template <class T> struct two { T a, b; };
static const struct { const char *name; double (*f)(double, double, double); int n; } named[] = {{"f", f, 1}, {"g", g, 2}};
static volatile int which = 1;
int main() {
  for (int w = 0; w < 2; w++) { which = w;
    R r = __enzyme_autodiff<R>((void *)(which ? f : g), enzyme_out, 2.0, enzyme_out, 3.0, enzyme_out, 4.0);
    expect("r", 0, r.a, w ? 12 : 1); expect("r", 1, r.b, w ? 8 : 4); expect("r", 2, r.c, w ? 6 : 3);
    r = __enzyme_autodiff<R>((void *)table[1 - which], enzyme_out, 2.0, enzyme_out, 3.0, enzyme_out, 4.0);
    expect("t", 0, r.a, w ? 12 : 1); expect("t", 1, r.b, w ? 8 : 4); expect("t", 2, r.c, w ? 6 : 3);
    r = __enzyme_autodiff<R>((void *)named[1 - which].f, enzyme_out, 2.0, enzyme_out, 3.0, enzyme_out, 4.0);
    expect(named[1 - which].name, 0, r.a, w ? 12 : 1);
    D3 s = {1.5, 2, 3}, ds = {1, 0, -1}; D2 t = {0.5f, 0.25f}, dt = {2, 3};
    double e = which ? s.y * 2 * 1 - t.a * t.b + s.z * (2 * t.b + 3 * t.a) : 1 + s.y * -1 * 2 * t.b + s.y * s.z * 2 * 3 - 2;
    expect("fwd", 0, __enzyme_fwddiff<double>((void *)(which ? p : q), enzyme_dup, s, ds, enzyme_dup, t, dt, enzyme_const, 2.0), e);
    two<double> v = __enzyme_fwddiff<two<double>>((void *)(which ? p : q), enzyme_width, 2, enzyme_dup, s, ds, ds, enzyme_dup, t, dt, dt, enzyme_const, 2.0);
    expect("fwd2", 1, v.b, e);
    int caught = 0;
    try { r = __enzyme_autodiff<R>((void *)(which ? f : g), enzyme_out, -2.0, enzyme_out, 3.0, enzyme_out, 4.0); expect("n", 0, r.c, 3); } catch (std::runtime_error &) { caught = 1; }
    expect("caught", w, caught, w);
  }
  return failures(); }
