// Rules of functions that take structs in registers: a tangent follows all of its struct, an adjoint is one.
#include "selfcheck.h"
struct Doubles { double a, b; };
struct Floats { float a, b; };
struct Three { float a, b, c; };
struct Mixed { float a; double b; };

template <class T> struct kept { double *tape; double value; };
template <class T> struct adjoints { T x; double w; };
template <class T> __attribute__((noinline)) double norm(T x, double w) { return (x.a * x.a + 3 * x.b * x.b) * w; }
template <class T> double tangent(T x, T dx, double w, double dw)
{
    return (2 * x.a * dx.a + 6 * x.b * dx.b) * w + (x.a * x.a + 3 * x.b * x.b) * dw;
}
template <class T> kept<T> forward(T x, double w)
{
    kept<T> r = {(double *)malloc(sizeof(double)), norm(x, w)};
    *r.tape = 2;
    return r;
}
template <class T> adjoints<T> reverse(T x, double w, double seed, double *tape)
{
    adjoints<T> r = {T(), seed * (x.a * x.a + 3 * x.b * x.b)};
    r.x.a = *tape * x.a * w * seed;
    r.x.b = 3 * *tape * x.b * w * seed;
    free(tape);
    return r;
}
#define RULES(T)                                                                                                      \
    void *__enzyme_register_gradient_##T[] = {(void *)norm<T>, (void *)forward<T>, (void *)reverse<T>};               \
    void *__enzyme_register_derivative_##T[] = {(void *)norm<T>, (void *)tangent<T>};
RULES(Doubles)
RULES(Floats)
RULES(Three)
RULES(Mixed)

template <class T> double sum(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i + 1 < n; i++) {
        T t = T();
        t.a = x[i];
        t.b = x[i + 1];
        s += norm(t, x[0]) * x[i];
    }
    return s;
}

template <class T> void check(const char *name)
{
    double x[4] = {1, 2, 3, 4}, d[4] = {0};
    __enzyme_autodiff_void((void *)sum<T>, enzyme_dup, x, d, enzyme_const, 4);
    for (int i = 0; i < 4; i++) {
        double at[4], t[4] = {0}, h = 1e-3;
        memcpy(at, x, sizeof x);
        at[i] = x[i] + h;
        double wanted = sum<T>(at, 4);
        at[i] = x[i] - h;
        wanted = (wanted - sum<T>(at, 4)) / (2 * h);
        t[i] = 1;
        expect_within(name, i, d[i], wanted, 1e-3);
        expect_within(name, 4 + i, __enzyme_fwddiff((void *)sum<T>, enzyme_dup, x, t, enzyme_const, 4), wanted, 1e-3);
    }
}

int main()
{
    check<Doubles>("doubles");
    check<Floats>("floats");
    check<Three>("three");
    check<Mixed>("mixed");
    return failures();
}
