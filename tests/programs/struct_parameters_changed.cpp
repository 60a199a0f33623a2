// A struct that is passed in memory is the function's own: what it does to it, nobody sees. Adjoints are added to what its shadow holds,
// and the shadow of a call in forward mode stays as it is.
#include "selfcheck.h"

template <class R, class... A> R __enzyme_autodiff(void *, A...);
template <class R, class... A> R __enzyme_fwddiff(void *, A...);
template <class R, class... A> R __enzyme_augmentfwd(void *, A...);
template <class R, class... A> R __enzyme_reverse(void *, A...);
struct kept { void *tape; double value; };
struct two { double a, b; };

struct state {
    double a, b, c[2];
    const char *name;
    union { long count; char text[16]; };
    double *more;
    __attribute__((noinline)) void grow(double by) { a *= by, more[0] += a; }
};

static double f(state s, int n)
{
    double r = s.a;
    s.a *= 2;
    for (int i = 0; i < n; i++) {
        s.c[i] *= s.b;
        r += s.c[i] * 5;
    }
    s.count += n;
    s.grow(3);
    s.b = 0;
    return r + s.a * 2.5 + s.b + s.count * s.more[0];
}

// Not only by the one who is asked: it calls itself with what it has changed.
static double again(state s, int n)
{
    s.a = s.a * s.a + n;
    s.c[n & 1] += s.b;
    return n ? again(s, n - 1) + s.c[0] * s.a : s.a + s.c[1];
}

template <double (*f)(state, int)> static void check(const char *name, int n)
{
    double more = 1.5, shadow = 0, other = 0; // (that of each lane)
    state s = {1, 2, {3, 4}, "name", {7}, &more}, d = {}, e = {}, t = s, u = s;
    auto at = [&](double h, auto get) {
        state p = s;
        *get(p) += h;
        double r = f(p, n);
        more = 1.5;
        return r;
    };
    double want[4];
    for (int k = 0; k < 4; k++) {
        auto get = [&](state &p) { return k == 0 ? &p.a : k == 1 ? &p.b : &p.c[k - 2]; };
        want[k] = (at(1e-4, get) - at(-1e-4, get)) / 2e-4;
    }
    auto check = [&](int first, const state &d, double times) {
        const double got[] = {d.a, d.b, d.c[0], d.c[1]};
        for (int k = 0; k < 4; k++)
            expect_within(name, first + k, got[k], times * want[k], 1e-6);
    };
    auto clear = [&] { shadow = other = 0, more = 1.5; };
    d.more = t.more = &shadow, e.more = u.more = &other;
    for (int times = 1; times < 4; times++) {
        __enzyme_autodiff<void>((void *)f, enzyme_dup, s, &d, enzyme_const, n);
        clear();
        check(10, d, times);
    }
    d = {}, d.more = &shadow;
    __enzyme_autodiff<void>((void *)f, enzyme_width, 2, enzyme_dup, s, &d, &e, enzyme_const, n);
    clear();
    __enzyme_autodiff<void>((void *)f, enzyme_width, 2, enzyme_dup, s, &d, &e, enzyme_const, n);
    check(20, d, 2), check(24, e, 2);
    d = {}, d.more = &shadow;
    clear();
    kept k = __enzyme_augmentfwd<kept>((void *)f, enzyme_dup, s, &d, enzyme_const, n);
    __enzyme_reverse<void>((void *)f, enzyme_nofree, enzyme_dup, s, &d, enzyme_const, n, 0.5, k.tape);
    clear();
    __enzyme_reverse<void>((void *)f, enzyme_dup, s, &d, enzyme_const, n, 2.0, k.tape);
    check(30, d, 2.5);
    expect(name, 40, s.a, 1), expect(name, 41, s.c[0], 3), expect(name, 42, s.count, 7);
    t.a = 1, t.b = 0, t.c[0] = -1, t.c[1] = 0.5, u.a = u.c[0] = u.c[1] = 0, u.b = 1;
    for (int times = 0; times < 2; times++) {
        clear();
        expect_within(name, 50, __enzyme_fwddiff<double>((void *)f, enzyme_dup, s, t, enzyme_const, n), want[0] - want[2] + want[3] / 2, 1e-6);
        clear();
        two r = __enzyme_fwddiff<two>((void *)f, enzyme_width, 2, enzyme_dup, s, t, u, enzyme_const, n);
        expect_within(name, 51, r.a, want[0] - want[2] + want[3] / 2, 1e-6);
    }
    expect(name, 60, t.a, 1), expect(name, 61, t.c[0], -1), expect(name, 62, u.b, 1);
}

int main()
{
    check<f>("changed", 2);
    check<again>("again", 3);
    return failures();
}
