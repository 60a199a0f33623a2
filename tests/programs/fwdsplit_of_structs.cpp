// Forward mode from a tape, of functions that return structs: in one register, in two, and through memory; with lanes, the value, and the tape kept.
#include "selfcheck.h"

template <class R, class... A> R __enzyme_augmentfwd(void *, A...);
template <class R, class... A> R __enzyme_fwdsplit(void *, A...);
template <class T> struct taped { void *tape; T value; };
template <class T> struct two { T a, b; };
struct F2 { float a, b; };
struct D2 { double a, b; };
struct D3 { double a, b, c; };
struct FD { float a; double b; };
struct DI { double a; long b; };

template <class R> static R of(const double *p, double x)
{
    R r = {};
    double v = *p * *p * x;
    r.a = v;
    r.b = 3 * v;
    return r;
}
template <> D3 of<D3>(const double *p, double x) { return {*p * *p * x, 3 * *p * *p * x, *p + x}; }

template <class R> static void check(const char *name)
{
    const bool number = sizeof(R) == sizeof(DI) && R{0, 1}.b / 2 == 0;
    auto f = (void *)(R(*)(const double *, double))of<R>;
    for (int keep = 0; keep < 2; keep++) {
        double p = 5, dp = 1, other = -2;
        auto k = __enzyme_augmentfwd<taped<R>>(f, enzyme_dup, &p, &dp, enzyme_const, 2.0);
        expect(name, 0, k.value.a, 50);
        expect(name, 1, k.value.b, 150);
        p = 70;
        R r;
        if (keep) {
            r = __enzyme_fwdsplit<R>(f, enzyme_nofree, enzyme_dup, &p, &dp, enzyme_const, 2.0, k.tape);
            expect(name, 2, r.a, 20);
        }
        r = __enzyme_fwdsplit<R>(f, enzyme_dup, &p, &dp, enzyme_dup, 2.0, 0.5, k.tape);
        expect(name, 3, r.a, 20 + 25 * 0.5);
        expect(name, 4, r.b, number ? 0 : 3 * (20 + 25 * 0.5));
        expect(name, 5, p, 70);
        p = 5;
        k = __enzyme_augmentfwd<taped<R>>(f, enzyme_width, 2, enzyme_dup, &p, &dp, &other, enzyme_const, 2.0);
        p = 70;
        auto both = __enzyme_fwdsplit<two<R>>(f, enzyme_width, 2, enzyme_dup, &p, &dp, &other, enzyme_const, 2.0, k.tape);
        expect(name, 6, both.a.a, 20);
        expect(name, 7, both.b.a, -40);
        expect(name, 8, both.b.b, number ? 0 : -120);
        if constexpr (sizeof(R) <= 16) { // (the value of others is refused)
            p = 5;
            k = __enzyme_augmentfwd<taped<R>>(f, enzyme_dup, &p, &dp, enzyme_const, 2.0);
            p = 70;
            auto whole = __enzyme_fwdsplit<two<R>>(f, enzyme_primal_return, enzyme_dup, &p, &dp, enzyme_const, 2.0, k.tape);
            expect(name, 9, whole.a.a, 50);
            expect(name, 10, whole.a.b, 150);
            expect(name, 11, whole.b.a, 20);
        }
    }
}

int main()
{
    check<F2>("F2");
    check<D2>("D2");
    check<D3>("D3");
    check<FD>("FD");
    check<DI>("DI");
    return failures();
}
