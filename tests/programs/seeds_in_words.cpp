// Results whose floats share a word of eight bytes with integers, beside others: each is seeded, in both sweeps apart, too.
#include "selfcheck.h"

template <class R, class... A> R __enzyme_autodiff(void *, A...);
template <class R, class... A> R __enzyme_fwddiff(void *, A...);
template <class R, class... A> R __enzyme_augmentfwd(void *, A...);
template <class R, class... A> R __enzyme_reverse(void *, A...);
template <class R> struct taped { void *tape; R value; };
struct two { double a, b; };
typedef signed char byte;

struct FIF { float u; int n; float v; };
struct IFF { int n; float u, v; };
struct BFF { byte n; float u, v; };
struct FBF { float u; byte n; float v; };
struct BBFF { byte n, m; float u, v; };
struct FBBF { float u; byte n, m; float v; };
struct FSFI { float u; short n; float v; int m; };
struct FID { float u; int n; double v; };
struct DFI { double u; float v; int n; };
struct FFFI { float u, v, w; int n; };

template <class R> static R f(double a, double b)
{
    R r = {};
    r.u = a * a * b;
    r.n = 7;
    r.v = 3 * a * b * b;
    return r;
}

template <class R> static R tangent(double a, double b)
{
    return __enzyme_fwddiff<R>((void *)(R(*)(double, double))f<R>, enzyme_dup, a, 1.0, enzyme_dup, b, 0.0);
}

template <class R> static void check(const char *name)
{
    auto g = (void *)(R(*)(double, double))f<R>;
    const double a = 2, b = 3, ua = 2 * a * b, ub = a * a, va = 3 * b * b, vb = 6 * a * b;
    two r = __enzyme_autodiff<two>(g, enzyme_out, a, enzyme_out, b);
    expect_within(name, 0, r.a, ua + va, 1e-5);
    expect_within(name, 1, r.b, ub + vb, 1e-5);
    taped<R> k = __enzyme_augmentfwd<taped<R>>(g, enzyme_out, a, enzyme_out, b);
    R seed = k.value;
    seed.u = 0.5f, seed.v = -2;
    r = __enzyme_reverse<two>(g, enzyme_out, a, enzyme_out, b, seed, k.tape);
    expect_within(name, 2, r.a, 0.5 * ua - 2 * va, 1e-5);
    expect_within(name, 3, r.b, 0.5 * ub - 2 * vb, 1e-5);
    R t = __enzyme_fwddiff<R>(g, enzyme_dup, a, 1.0, enzyme_dup, b, -1.0);
    expect_within(name, 4, t.u, ua - ub, 1e-5);
    expect_within(name, 5, t.v, va - vb, 1e-5);
    r = __enzyme_autodiff<two>((void *)(R(*)(double, double))tangent<R>, enzyme_out, a, enzyme_out, b);
    expect_within(name, 6, r.a, 2 * b, 1e-5);
    expect_within(name, 7, r.b, 2 * a + 6 * b, 1e-5);
}

int main()
{
    check<FIF>("FIF");
    check<IFF>("IFF");
    check<BFF>("BFF");
    check<FBF>("FBF");
    check<BBFF>("BBFF");
    check<FBBF>("FBBF");
    check<FSFI>("FSFI");
    check<FID>("FID");
    check<DFI>("DFI");
    check<FFFI>("FFFI");
    return failures();
}
