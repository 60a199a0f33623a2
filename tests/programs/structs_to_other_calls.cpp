// Structs in memory, small integers and large results where the derivative is none: batches, and calls that are inactive.
#include "selfcheck.h"

template <class R, class... A> R __enzyme_autodiff(void *, A...);
template <class R, class... A> R __enzyme_batch(void *, A...);
template <class R, class... A> R __enzyme_call_inactive(void *, A...);
struct D2 { double a, b; };
struct D3 { double a, b, c; };
struct both { D3 a, b; };

__attribute__((noinline)) static double norm(D3 x, double w, D3 y)
{
    x.a += 1;
    return x.a * y.a + x.b * y.b + x.c * w;
}
__attribute__((noinline)) static D3 scaled(D3 x, double w)
{
    x.b++;
    return {x.a * w, x.b, x.c};
}
__attribute__((noinline)) static double small(short s, signed char c, bool b, float d)
{
    return s * 2 + c + (b ? 100 : 0) + d;
}

static double f(double x)
{
    D3 s = {x, 2, 3}, t = {x, 5, 6};
    double n = __enzyme_call_inactive<double>((void *)norm, s, x, t);
    D3 r = __enzyme_call_inactive<D3>((void *)scaled, s, x);
    return x * x * n + x * r.a + s.a * r.b + s.b;
}

int main()
{
    D3 s = {1.5, 2, 3}, t = {1.5, 5, 6}, u = {-1, 4, 2};
    D2 r = __enzyme_batch<D2>((void *)norm, enzyme_width, 2, enzyme_vector, s, u, enzyme_scalar, 0.5, enzyme_vector, t, s);
    expect("batch", 0, r.a, norm(s, 0.5, t));
    expect("batch", 1, r.b, norm(u, 0.5, s));
    both q = __enzyme_batch<both>((void *)scaled, enzyme_width, 2, enzyme_vector, s, u, enzyme_scalar, 0.5);
    expect("batch", 2, q.a.a, 0.75), expect("batch", 3, q.a.b, 3), expect("batch", 4, q.b.b, 5), expect("batch", 5, s.b, 2);
    r = __enzyme_batch<D2>((void *)small, enzyme_width, 2, enzyme_vector, (short)-5, (short)700, enzyme_vector,
                           (signed char)-3, (signed char)9, enzyme_scalar, true, enzyme_vector, 0.5f, 1.5f);
    expect("batch", 6, r.a, small(-5, -3, true, 0.5f));
    expect("batch", 7, r.b, small(700, 9, true, 1.5f));
    double x = 1.5, n = 2.5 * 1.5 + 10 + 4.5;
    expect("inactive", 0, f(x), x * x * n + x * x * x + 3 * x + 2);
    expect("inactive", 1, __enzyme_autodiff<double>((void *)f, enzyme_out, x), 2 * x * n + x * x + 3);
    return failures();
}
