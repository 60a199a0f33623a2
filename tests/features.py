"""What random programs are made of besides plain statements: a table of small pieces of C and C++.

A feature opens a block, hands new places and functions to whatever statements stand in it (other features too), and
closes it. Texts have holes: `<t>` and `<T>` are fresh names (`T…` for memory that ends with the block), `<p>` is the
program's name; `<leaf>`, `<value>` (bounded), `<at>` (0 … 4), `<cond>`, `<array>` (5 doubles or more), `<lasting>` (one
that outlives the block), `<elem>` (has an address), `<struct>`, `<target>`, `<n>` (2 … 4) are drawn
anew wherever they are used, `<A>` is one array throughout the block.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HEADER = """#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define AT(i) ((int)((unsigned)(i) % 5u))
#define WRAP(v) ({ double v_ = (v); v_ / (1.0 + v_ * v_); })
#define SQ(v) ({ double s_ = (v); s_ * s_; })
#define NEW(T, n) ((T *)malloc((n) * sizeof(T)))
#define NOINLINE static __attribute__((noinline))
struct S { int k; double v; short h; double z[2]; };
struct T { float w; int k; double v; };
struct N { double v; struct N *next; };
struct V { double *d; int n; double s; };
static int up(const void *a, const void *b) { double d = *(double *)a - *(double *)b; return (d > 0) - (d < 0); }
static int by_v(const void *a, const void *b) { return up(&((struct S *)a)->v, &((struct S *)b)->v); }
NOINLINE struct N *cons(double v, struct N *next) {
    struct N *o = NEW(struct N, 1);
    o->v = v, o->next = next;
    return o;
}
NOINLINE void drop(struct N *o) { while (o) { struct N *t = o->next; free(o); o = t; } }
NOINLINE struct N *turned(struct N *o) {
    struct N *r = 0;
    while (o) { struct N *t = o->next; o->next = r; r = o; o = t; }
    return r;
}
struct D { double v; long k; };
struct E { int k; double v; };
struct Q { int k; float w; };
struct R { float w; int k; double v; };
typedef double v2 __attribute__((vector_size(16)));
typedef double v4 __attribute__((ext_vector_type(4)));
NOINLINE struct D more(struct D o) { o.v *= 0.5; o.k += 2; return o; }
NOINLINE struct E other(struct D o) { struct E e = {(int)o.k % 5, o.v + 0.1}; return e; }
NOINLINE struct Q counted(struct Q o) { struct Q q = {o.k + 1, o.w * 0.7f}; return q; }
NOINLINE struct R wide(struct Q o) { struct R r = {o.w, o.k ^ 1, 0.3 * o.w}; return r; }
NOINLINE v2 crossed(v2 a) { v2 r = {a[1], a[0] * 0.8}; return r; }
static double square(double a, double *p) { return *p * a * a; }
static double wave(double a, double *p) { *p += 0.1 * sin(a); return cos(a * *p); }
static double plain(double a, double *p) { return a + 0 * *p; }
struct F { double (*f)(double, double *); double w; };
static double (*const FUNCTIONS[3])(double, double *) = {square, wave, plain};
static const double TABLE[5] = {0.3, -0.7, 1.1, 0.2, -0.4};
static const int ORDER[5] = {3, 0, 4, 1, 2};
struct L { double v[4]; int k; };
NOINLINE struct L mixed(struct L o, double u) { o.v[o.k & 3] += u; o.k++; o.v[0] *= 0.5; return o; }
struct P2 { double a, b; };
NOINLINE struct P2 twisted(struct P2 o) { struct P2 r = {o.b * 0.7, o.a - o.b}; return r; }
struct F2 { float a, b; };
NOINLINE struct F2 twistf(struct F2 o) { struct F2 r = {o.b * 0.7f, o.a - o.b}; return r; }
struct B { double v; struct B *l, *r; };
NOINLINE struct B *planted(struct B *o, double v, int k) {
    if (!o) { o = NEW(struct B, 1); o->v = v; o->l = o->r = 0; return o; }
    if (k & 1) o->l = planted(o->l, v * 0.9, k >> 1); else o->r = planted(o->r, v, k >> 1);
    return o;
}
NOINLINE double gathered(struct B *o, double u) {
    return o ? WRAP(o->v * u + gathered(o->l, 0.5 * u) - gathered(o->r, u + 0.1)) : u;
}
NOINLINE void felled(struct B *o) { if (o) { felled(o->l); felled(o->r); free(o); } }
static double odd(double *x, double u, int n);
NOINLINE double even(double *x, double u, int n) {
    if (n <= 0) return u;
    x[n % 5] = WRAP(x[n % 5] + 0.1 * u);
    return odd(x, WRAP(u * x[1]), n - 1) + 0.2 * u;
}
static double odd(double *x, double u, int n) { return n <= 0 ? 0.5 * u : even(x, sin(u + *x), n - 1) * u; }
NOINLINE double applied(double (*f)(double, void *), void *c, int n, double u) {
    for (int i = 0; i < n; i++) u = f(u, c);
    return u;
}
static double with_view(double u, void *c) {
    struct V *o = (struct V *)c;
    o->s = WRAP(o->s + 0.1 * u);
    return WRAP(u * o->d[1] + o->s);
}
static double with_double(double u, void *c) { return sin(u + *(double *)c); }
NOINLINE struct V *opened(double u, int n) {
    struct V *o = NEW(struct V, 1);
    o->d = NEW(double, n), o->n = n, o->s = u;
    for (int i = 0; i < n; i++) o->d[i] = u * (0.1 * i - 0.2);
    return o;
}
NOINLINE void closed(struct V *o) { free(o->d); free(o); }
NOINLINE double several(int n, ...) {
    va_list l;
    va_start(l, n);
    double r = 0;
    for (int i = 0; i < n; i++) { double *p = va_arg(l, double *); r += va_arg(l, double) * p[va_arg(l, int)]; }
    va_end(l);
    return WRAP(r);
}
NOINLINE void axpy(int n, double a, const double *__restrict x, double *__restrict y) {
    for (int i = 0; i < n; i++) y[i] = 0.7 * y[i] + a * x[i];
}
NOINLINE double halves(double *x, int n, double u) {
    if (n == 1) return u * *x;
    double t[2] = {halves(x, n / 2, u * 0.9), 0};
    t[1] = halves(x + n / 2, n - n / 2, WRAP(u + t[0]));
    *x = WRAP(*x + 0.3 * t[1]);
    return t[0] - 0.4 * t[1];
}
struct C { double (*f)(double, void *); void *c; };
struct H { long tag; union { double d; double *p; } u; };
static double seen(const struct H *o) { return o->tag ? o->u.p[1] : o->u.d; }
struct O { double (*f)(double, double *); int k; double (*g)(double, double *); };
static const struct O OPERATIONS[2] = {{square, 1, wave}, {plain, 2, square}};
NOINLINE double operated(const struct O *o, double u, double *p) { return o->f(u, p) + 0.1 * o->k * o->g(0.5 * u, p); }
struct W { double v; struct W *before, *after; };
NOINLINE struct W *beside(struct W *o, double v) {
    struct W *r = NEW(struct W, 1);
    r->v = v, r->before = o, r->after = o ? o->after : r;
    if (!o) { r->before = r; return r; }
    o->after->before = r;
    return o->after = r;
}
NOINLINE struct W *without(struct W *o) {
    struct W *r = o->after == o ? 0 : o->after;
    o->before->after = o->after, o->after->before = o->before;
    free(o);
    return r;
}
struct X { int n; double s; double d[]; };
struct M { char name[12]; int k; double v; };
NOINLINE struct M *named(struct M *o, int n, const char *name) {
    for (int i = 0; i < n; i++) if (!strcmp(o[i].name, name)) return o + i;
    return o;
}
NOINLINE void two(double u, double v, double *a, double *b) { *a = WRAP(u + v * v), *b = sin(*a) * v; }
struct G { char c; double v; float f; double z[2]; } __attribute__((packed));
NOINLINE double packed(struct G *o, double u) { o->z[1] = WRAP(o->v * u); return o->z[0] + o->f; }
NOINLINE struct V joined(struct V a, struct V b) {
    struct V r = {a.n > b.n ? a.d : b.d, a.n + b.n, a.s * b.s};
    return r;
}
"""

HEADER_CXX = """#pragma clang diagnostic ignored "-Wc++11-narrowing"
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <valarray>
#include <variant>
#include <vector>
""" + HEADER + """
struct Shape { double w; Shape(double w) : w(w) {} virtual double f(double u) = 0; virtual ~Shape() {} };
struct Round : Shape { Round(double w) : Shape(w) {} double f(double u) override { return sin(w * u); } };
struct Long : Shape {
    double z[2];
    Long(double w) : Shape(w), z{w * 0.5, 0.3} {}
    double f(double u) override { z[0] = WRAP(z[0] + u); return z[0] * w; }
};
NOINLINE double asked(Shape *s, double u) { return s->f(u); }
struct Guard { double *p, v; Guard(double *p, double v) : p(p), v(v) {} ~Guard() { *p = WRAP(*p + v); } };
struct Owner {
    double *d;
    Owner(double v) : d(new double[5]) { for (int i = 0; i < 5; i++) d[i] = v * i; }
    Owner(const Owner &o) : d(new double[5]) { std::copy(o.d, o.d + 5, d); }
    ~Owner() { delete[] d; }
};
NOINLINE double risky(double u, int k) { if (k > 2) throw 1; return sin(u); }
NOINLINE double summed(Owner o, double u) { o.d[1] *= u; return WRAP(o.d[1] + o.d[3]); }
template <int N> struct Power { static double of(double u) { return u * Power<N - 1>::of(u); } };
template <> struct Power<0> { static double of(double) { return 1; } };
struct Named { int k = 2; double n = 0.2; virtual double g(double u) { return u * n * k; } virtual ~Named() {} };
struct Both : Round, Named { Both(double w) : Round(w) {} double g(double u) override { return WRAP(w * u + n * k); } };
struct Base { double v; Base(double v) : v(v) {} };
struct Left : virtual Base { double l; Left(double v) : Base(v), l(v * 0.5) {} };
struct Right : virtual Base { double r; Right(double v) : Base(v), r(0.2) {} };
struct Bottom : Left, Right { Bottom(double v) : Base(v), Left(v), Right(v) {} double all() { return v * l + r; } };
NOINLINE double upper(Base &b, double u) { b.v = WRAP(b.v + u); return b.v * u; }
template <class D> struct Curious { double twice(double u) { return static_cast<D *>(this)->once(u) * 2; } };
struct Wave : Curious<Wave> {
    double w;
    Wave(double w) : w(w) {}
    double once(double u) { w *= 0.9; return sin(u * w); }
};
template <class... A> double folded(A... a) { return (0.0 + ... + (a * a)); }
struct Vec {
    double a, b;
    Vec operator+(Vec o) const { return {a + o.a, b - o.b}; }
    Vec operator*(double u) const { return {a * u, b * u}; }
    double operator[](int i) const { return i ? b : a; }
};
struct Bad { int k; };
struct Pooled {
    double v;
    Pooled(double v) : v(v) {}
    virtual double f(double u) { return v * u; }
    virtual ~Pooled() {}
    void *operator new(size_t n) { return malloc(n + 16); }
    void operator delete(void *p) { free(p); }
};
NOINLINE double through(double *p, double u, int k) { Guard g(p, u); return risky(u * *p, k); }
struct Worth { double v; };
struct Leafy {
    double v;
    std::unique_ptr<Leafy> l, r;
    double sum(double u) const { return WRAP(v * u + (l ? l->sum(0.5 * u) : 0.1) - (r ? r->sum(u) : u)); }
};
NOINLINE std::unique_ptr<Leafy> leafy(double v, int k) {
    auto o = std::make_unique<Leafy>();
    o->v = v;
    if (k > 0) o->l = leafy(v * 0.9, k - 2), o->r = leafy(sin(v), k - 3);
    return o;
}
struct Labelled { std::string name; double v; };
struct Disc { double r; };
struct Box3 { double a, b; int n; };
template <class... F> struct Overloaded : F... { using F::operator()...; };
template <class... F> Overloaded(F...) -> Overloaded<F...>;
NOINLINE double dear(double *p, double u, int k) {
    std::vector<double> t(3, u);
    Guard g(p, t[1]);
    if (k > 2) throw Worth{u * t[2]};
    return t[0] * *p;
}
NOINLINE double checked(double u, int k) {
    std::vector<double> t(2 + k, u);
    if (k > 2) throw std::runtime_error("at " + std::to_string(u));
    return t[1] * u;
}
NOINLINE double listed(std::initializer_list<double> l) { double r = 0; for (double v : l) r = WRAP(r + v); return r; }
"""

INCLUDED = (Path("/usr/include"), Path("/usr/local/include"))


@dataclass(frozen=True)
class Feature:
    """`doubles`, `arrays`, `calls`, `ints`: what the block may use. `times`: how often it runs at most.

    `frees`: the end must be reached. `leave`: how the function is left from inside, if otherwise. `header`: what it
    needs at file scope. `needs`: a library's header, which may be missing. `once`: in a program. `single`: has
    floats of 32 bits or less. `throws`: an exception is caught.
    """

    name: str
    start: str
    end: str = "}"
    doubles: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    ints: tuple[str, ...] = ()
    times: int = 1
    loop: bool = False
    frees: bool = False
    leave: str = ""
    header: str = ""
    needs: str = ""
    single: bool = False
    cxx: bool = False
    throws: bool = False
    once: bool = False
    most: int = 24  # only where the code around it runs at most so often

    @property
    def available(self) -> bool:
        return any((folder / self.needs).exists() for folder in INCLUDED)


_FILL = "for (int i = 0; i < 5; i++)"
_LAST = "<target> = WRAP(<leaf> + <leaf>); }"

FEATURES = (
    # --- bytes
    Feature(
        "union", "{ union { double d; long i; unsigned char b[8]; } <t>, <t>w; <t>.d = <value>; <t>w.i = <t>.i;",
        "<target> = WRAP(<t>w.d - 0.5 * <t>.d); }", doubles=("<t>.d", "<t>w.d"),
    ),
    Feature(
        "punned", "{ double <t> = <value>, <t>b[2] = {<leaf>, 0.4}; unsigned long <t>i; memcpy(&<t>i, &<t>, 8);"
        " memcpy(&<t>b[<at> & 1], &<t>i, 8);",
        "<target> = WRAP(<t>b[0] * <t>b[1]); }", doubles=("<t>b[<at> & 1]",),
    ),
    Feature(
        "bytes", "{ struct S <t> = <struct>[<at> % 3], <t>c; unsigned char <t>b[sizeof <t>];"
        " memcpy(<t>b, &<t>, sizeof <t>); memcpy(&<t>c, <t>b, sizeof <t>);",
        doubles=("<t>c.v", "<t>.z[<at> & 1]"), ints=("<t>c.k",),
    ),
    Feature(
        "bits", "{ struct { unsigned a : 3; unsigned b : 9; double v; int c : 7; } <t>; memset(&<t>, 0, sizeof <t>);"
        " <t>.a = 3, <t>.v = <value>, <t>.c = -2, <t>.b = 5 + <at>;", doubles=("<t>.v",), ints=("<t>.a", "<t>.b"),
    ),
    Feature(
        "partial",
            "{ struct { double a[2]; int k; double b; } <t> = {{<leaf>, <value>}, 2, 0.3}; memset(&<t>.a[1], 0, 8);"
        " memcpy(&<t>.b, &<t>.a[<at> & 1], sizeof(double));", doubles=("<t>.a[<at> & 1]", "<t>.b"), ints=("<t>.k",),
    ),
    Feature(
        "floats in a long", "{ struct F2 <t> = {(float)<leaf>, 0.5f}, <t>c; long <t>i; memcpy(&<t>i, &<t>, 8);"
        " memcpy(&<t>c, &<t>i, 8); <t> = twistf(<t>c);", doubles=("<t>.a", "<t>c.b"), single=True,
    ),
    # --- structs and vectors by value
    Feature("large", "{ struct L <t> = {{<leaf>, <leaf>, 0.3, <value>}, 1}; <t> = mixed(<t>, <leaf>);",
            doubles=("<t>.v[<at> & 3]",), calls=("mixed(<t>, <leaf>).v[<at> & 3]",), ints=("<t>.k",)),
    Feature("pair", "{ struct P2 <t> = {<leaf>, <value>}; <t> = twisted(<t>);", doubles=("<t>.a", "<t>.b"),
            calls=("twisted(<t>).b",)),
    Feature("vector", "{ v4 <t> = {<leaf>, <value>, 0.2, <leaf>}; <t> = <t> * <t>.wzyx + 0.3;",
            "<t> = <t>.xxzw * 0.5 - <t>; <target> = WRAP(<t>.x + <t>.y * <t>.z); }", doubles=("<t>[<at> & 3]",
            "<t>.y")),
    Feature("complex", "{ double _Complex <t> = <leaf>, <t>c; __imag__ <t> = <value>; <t>c = <t> * <t> / (<t> + 3.0);",
            "<t>c = <t>c * <t>; <target> = WRAP(__real__ <t>c - __imag__ <t>c); }",
            doubles=("__real__ <t>", "__imag__ <t>c"), calls=("__builtin_cabs(<t> + 5.0)",)),
    Feature("long double", "{ long double <t> = <value>, <t>a[2] = {0.25L, <leaf>}; <t>a[<at> & 1] *= <t>;",
            "<target> = (double)WRAP(<t> + <t>a[1]); }", calls=("(double)<t>", "(double)<t>a[<at> & 1]")),
    Feature("float", "{ float <t> = (float)<value>, <t>a[3] = {0.5f, (float)<leaf>, 1.0f};",
            "<target> = WRAP(<t> * <t>a[1]); }", doubles=("<t>", "<t>a[<at> % 3]"), single=True),
    Feature("half", "{ _Float16 <t> = (_Float16)<value>, <t>a[3] = {(_Float16)0.5, (_Float16)<leaf>, (_Float16)1.0};"
            " <t>a[<at> % 3] *= <t>;", "<target> = WRAP((double)<t> * (double)<t>a[1]); }",
            calls=("(double)<t>", "(double)<t>a[<at> % 3]"), single=True),
    # --- memory
    Feature("pointer to pointer", "{ double *<T>p = <array>, **<t>q = &<T>p; if (<cond>) *<t>q = <array>;",
            arrays=("<T>p",), doubles=("(*<t>q)[<at>]",)),
    Feature("double buffer", "{ double <T>[5], <T>u[5], *<T>a = <T>, *<T>b = <T>u; " + _FILL +
            " <T>[i] = <leaf> * 0.3, <T>u[i] = 0.1 * i; for (int <t> = 0; <t> < <n>; <t>++) {",
            "<T>b[<at>] = WRAP(<T>a[<at>] + <leaf>); double *<t>s = <T>a; <T>a = <T>b; <T>b = <t>s; }"
            " <target> = WRAP(<T>a[<at>]); }", arrays=("<T>a", "<T>b"), times=4, loop=True, ints=("<t>",)),
    Feature("heap buffer", "{ double *<T>a = NEW(double, 5), *<T>b = NEW(double, 5); " + _FILL +
            " <T>a[i] = <leaf> * 0.3, <T>b[i] = 0.1 * i; for (int <t> = 0; <t> < <n>; <t>++) {",
            "<T>b[<at>] = WRAP(<T>a[<at>] + <leaf>); double *<t>s = <T>a; <T>a = <T>b; <T>b = <t>s; }"
            " <target> = WRAP(<T>a[<at>]); free(<T>a); free(<T>b); }",
            arrays=("<T>a", "<T>b"), times=4, loop=True, frees=True, ints=("<t>",)),
    Feature("grid", "{ int <t>n = 3 + <at>; double *<T>a = NEW(double, 9), *<T>b = NEW(double, 9);"
            " for (int i = 0; i < 9; i++) <T>a[i] = <leaf> * 0.1 * i, <T>b[i] = <leaf>;"
            " for (int <t> = 0; <t> < <n>; <t>++) { for (int i = 1; i + 1 < <t>n; i++)"
            " <T>b[i] = WRAP(<T>a[i - 1] + <T>a[i + 1] * <T>a[i] + 0.1 * sin(<T>b[i]));",
            "double *<t>s = <T>a; <T>a = <T>b; <T>b = <t>s; } <target> = WRAP(<T>a[<at>] * <T>b[<at>]);"
            " free(<T>a); free(<T>b); }", arrays=("<T>a", "<T>b"), times=4, loop=True, frees=True, ints=("<t>",),
            most=6),
    Feature("steps", "{ double *<T> = NEW(double, 5); " + _FILL + " <T>[i] = <leaf> * 0.2 * i;"
            " for (int <t> = 0; <t> < <n>; <t>++) { double *<T>o = NEW(double, 5); for (int i = 0; i < 5; i++)"
            " <T>o[i] = WRAP(<T>[i] + <T>[(i + 1) % 5] * <leaf>);",
            "free(<T>); <T> = <T>o; } <target> = WRAP(<T>[<at>]); free(<T>); }",
            arrays=("<T>", "<T>o"), times=4, loop=True, frees=True, ints=("<t>",), most=6),
    Feature("gated", "{ double <T>[5], <T>w[15]; int <t>n = 2 + <at> % 4; " + _FILL + " <T>[i] = <leaf>;"
            " for (int i = 0; i < 15; i++) <T>w[i] = 0.05 * i - <leaf>; for (int <t> = 0; <t> < <n>; <t>++) {"
            " double <t>z[5]; for (int i = 0; i < <t>n; i++) { <t>z[i] = 0.1; for (int j = 0; j < <t>n; j++)"
            " <t>z[i] += <T>w[i + 2 * j] * tanh(<T>[j]); }",
            "for (int i = 0; i < <t>n; i++) <T>[i] = WRAP(<t>z[i] * <T>[i]); } <target> = WRAP(<T>[<at>]); }",
            arrays=("<T>", "<T>w"), doubles=("<t>z[<at> % <t>n]",), times=4, loop=True, ints=("<t>",), most=6),
    Feature("list", "{ struct N *<t> = 0; for (int i = 0; i < <n>; i++) <t> = cons(<value>, <t>);"
            " for (struct N *<t>o = <t>; <t>o; <t>o = <t>o->next) {", "} drop(<t>); }",
            doubles=("<t>o->v", "<t>->v"), times=4, loop=True, frees=True),
    Feature("tree", "{ struct B *<t> = 0; for (int i = 1; i < 5; i++) <t> = planted(<t>, <leaf>, i);",
            "<target> = gathered(<t>, <leaf>); felled(<t>); }",
            doubles=("<t>->v",), calls=("gathered(<t>, <leaf>)",), frees=True, most=6),
    Feature("growing", "{ int <t>n = 0, <t>m = 1; double *<T> = NEW(double, 1); for (int <t> = 0; <t> < 5; <t>++) {"
            " if (<t>n == <t>m) { <t>m *= 2; <T> = (double *)realloc(<T>, <t>m * sizeof(double)); }"
            " <T>[<t>n++] = <value>;",
            "} <target> = WRAP(<T>[<at>]); free(<T>); }", doubles=("<T>[<t>n - 1]", "<T>[0]"), ints=("<t>",), times=5,
            frees=True, most=6),
    Feature("rows", "{ double *<T>[2]; for (int i = 0; i < 2; i++) { <T>[i] = NEW(double, 5);"
            " for (int j = 0; j < 5; j++) <T>[i][j] = <leaf> + 0.1 * j; } if (<cond>) { double *<t> = <T>[0];"
            " <T>[0] = <T>[1]; <T>[1] = <t>; }", "free(<T>[0]); free(<T>[1]); }", arrays=("<T>[<at> & 1]",),
            frees=True),
    Feature("heap rows", "{ double **<T> = NEW(double *, 2); for (int i = 0; i < 2; i++) { <T>[i] = NEW(double, 5);"
            " memcpy(<T>[i], <array>, 5 * sizeof(double)); }", "free(<T>[0]); free(<T>[1]); free(<T>); }",
            arrays=("<T>[<at> & 1]",), frees=True),
    Feature("matrix", "{ double <T>[2 + <at> % 2][5]; for (int i = 0; i < 2; i++) for (int j = 0; j < 5; j++)"
            " <T>[i][j] = <leaf> * (0.2 + 0.1 * i * j);", arrays=("<T>[<at> & 1]",)),
    Feature("view", "{ struct V <T> = {<array>, 2, <leaf>}, <T>c = <T>; if (<cond>) <T>c.d = <array>;",
            arrays=("<T>.d", "<T>c.d"), doubles=("<T>.s", "<T>c.s")),
    Feature("opened", "{ struct V *<T> = opened(<leaf>, 5 + <at>);", "<target> = WRAP(<T>->s); closed(<T>); }",
            arrays=("<T>->d",), doubles=("<T>->s",), ints=("<T>->n",), frees=True),
    Feature("overlap", "{ double <T>[8] = {<leaf>, 0.3, <value>, 0.1, <leaf>, 0.7, 0.2, 0.9};"
            " memmove(<T> + 1, <T>, (2 + <at>) * sizeof(double));", arrays=("<T>", "(<T> + 2)")),
    Feature("static", "{ static double <t>, <T>[5]; static int <t>c; <t> = <value>; <t>c = 1; " + _FILL +
            " <T>[i] = <leaf> * i;", doubles=("<t>",), ints=("<t>c",), arrays=("<T>",)),
    Feature("global", "{ memmove(<p>_g, <array>, sizeof <p>_g); <p>_h = <value>;", arrays=("<p>_g",),
            doubles=("<p>_h",),
            calls=("<p>_use(<leaf>)",), header="static double <p>_g[5]; double <p>_h;\n"
            "NOINLINE double <p>_use(double u) { <p>_g[2] = WRAP(<p>_g[2] * u); return <p>_h * u + <p>_g[1]; }"),
    Feature("global pointer", "{ <p>_gp = <lasting>; if (<cond>) <p>_gp = <lasting>;", "<p>_gp = 0; }",
            calls=("<p>_at(<at>)",), doubles=("<p>_gp[<at>]",), frees=True, once=True,
            header="static double *<p>_gp;\nNOINLINE double <p>_at(int k) { return <p>_gp[k]; }"),
    Feature("initialised", "{ double <T>[5]; memcpy(<T>, <p>_c, sizeof <T>); <T>[<at>] = <value>;", arrays=("<T>",),
            calls=("<p>_c[<at>]",), header="static const double <p>_c[5] = {0.1, 0.4, -0.3, 0.8, 0.5};"),
    Feature("constant table", "{ memmove(<p>_k, <array>, sizeof <p>_k);", calls=("<p>_t[<at> & 1][<at> % 4]",),
            arrays=("<p>_t[0]",), header="static double <p>_k[5];\n"
            "static double *const <p>_t[2] = {<p>_k, <p>_k + 1};"),
    Feature("circle", "{ struct W *<t> = beside(beside(beside(0, <leaf>), <value>), <leaf>), *<t>o = <t>;"
            " for (int <t>i = 0; <t>i < 4; <t>i++, <t>o = <t>o->before) {",
            "} <t> = without(<t>); while (<t>) { <target> = WRAP(<target> + <t>->v); <t> = without(<t>); } }",
            doubles=("<t>o->v", "<t>o->after->v"), times=4, loop=True, frees=True, most=6),
    Feature("buckets", "{ struct N *<t>[3] = {0, 0, 0}; for (int i = 0; i < 6; i++) {"
            " int <t>j = (i * 5 + <at>) % 3; <t>[<t>j] = cons(<value>, <t>[<t>j]); }",
            "for (int i = 0; i < 3; i++) { for (struct N *o = <t>[i]; o; o = o->next) <target> += 0.1 * o->v * i;"
            " drop(<t>[i]); } }", calls=("(<t>[<at> % 3] ? <t>[<at> % 3]->v : 0.3)",), frees=True, most=6),
    Feature("views", "{ struct V <T>[2] = {{<array>, 1, <leaf>}, {<array>, 2, <leaf>}}, <T>o;"
            " if (<cond>) { memcpy(&<T>o, &<T>[0], sizeof <T>o); memcpy(&<T>[0], &<T>[1], sizeof <T>o);"
            " memcpy(&<T>[1], &<T>o, sizeof <T>o); } <T>o = joined(<T>[0], <T>[1]);",
            arrays=("<T>[<at> & 1].d", "<T>o.d"), doubles=("<T>[<at> & 1].s", "<T>o.s"), ints=("<T>o.n",)),
    Feature("packed", "{ struct G <t>[2] = {{1, <leaf>, 0.5f, {<value>, 0.1}}, {2, 0.3, 0.25f, {<leaf>, <leaf>}}};",
            calls=("packed(&<t>[<at> & 1], <leaf>)",), doubles=("<t>[<at> & 1].v", "<t>[0].z[<at> & 1]"), single=True),
    Feature("alloca", "{ double *<T> = (double *)__builtin_alloca((5 + <at>) * sizeof(double)); " + _FILL +
            " <T>[i] = <leaf>;", arrays=("<T>",)),
    Feature("volatile", "{ volatile double <t> = <value>;", doubles=("<t>",)),
    Feature("quadruple", "{ __float128 <t> = <value>, <t>a[2] = {0.25, <leaf>}; <t>a[<at> & 1] *= <t>;",
            "<target> = (double)WRAP((double)(<t> + <t>a[1])); }", calls=("(double)<t>", "(double)<t>a[<at> & 1]")),
    Feature("allocated in a loop", "for (int <t> = 0; <t> < 4 && <leaf> < 1.5; <t>++) {"
            " double *<T> = NEW(double, 5 + <t>); " + _FILL + " <T>[i] = <leaf> * (0.2 + 0.1 * i);",
            "<target> = WRAP(<T>[<at>]); free(<T>); }", arrays=("<T>",), ints=("<t>",), times=4, frees=True, most=6),
    Feature("found length", "{ struct N *<t> = 0; double <t>v = <value>; for (int i = 0; i < 4 && fabs(<t>v) > .1; i++)"
            " { <t> = cons(<t>v, <t>); <t>v *= 0.6; } <t> = turned(<t>);",
            "for (struct N *o = <t>; o; o = o->next) <target> += 0.1 * o->v; drop(<t>); }", doubles=("<t>v",),
            calls=("(<t> ? <t>->v : 0.1)",), frees=True, most=6),
    Feature("sized by a float", "{ int <t> = 5 + (int)(fabs(<value>) * 3.0); double *<T> = NEW(double, <t>);"
            " for (int i = 0; i < <t>; i++) <T>[i] = <leaf> + 0.1 * i;", "<target> = WRAP(<T>[<t> - 1]); free(<T>); }",
            arrays=("<T>",), ints=("<t>",), frees=True),
    Feature("tagged", "{ struct { int tag; union { double d; long k; } u; } <t>; <t>.tag = <cond>;"
            " if (<t>.tag) <t>.u.d = <value>; else <t>.u.k = <at>;",
            calls=("(<t>.tag ? <t>.u.d : 0.3)",), ints=("<t>.tag",)),
    Feature("tagged places", "{ struct H <T>[3], <T>c; for (int i = 0; i < 3; i++) { <T>[i].tag = (i + <at>) & 1;"
            " if (<T>[i].tag) <T>[i].u.p = <array>; else <T>[i].u.d = <value>; } if (<cond>) { struct H <T>o = <T>[0];"
            " <T>[0] = <T>[2]; <T>[2] = <T>o; } <T>c = <T>[<at> % 3];",
            calls=("seen(<T> + <at> % 3)", "seen(&<T>c)"), most=6),
    Feature("thread-local", "{ static __thread double <t>, <T>[5]; <t> = <value>; " + _FILL + " <T>[i] = <leaf> * i;",
            doubles=("<t>",), arrays=("<T>",)),
    Feature("arena", "{ char *<T>m = (char *)malloc(256); int <t>o = 0; double *<T> = (double *)(<T>m + <t>o);"
            " <t>o += 5 * sizeof(double); struct N *<t> = (struct N *)(<T>m + <t>o); <t>o += sizeof(struct N);"
            " int *<t>k = (int *)(<T>m + <t>o); " + _FILL + " <T>[i] = <leaf> * 0.3, <t>k[i] = i ^ 1;"
            " <t>->v = <value>, <t>->next = <t>;", "<target> = WRAP(<t>->next->v + <T>[<at>]); free(<T>m); }",
            arrays=("<T>",), doubles=("<t>->v",), ints=("<t>k[1]",), frees=True),
    Feature("flexible", "{ struct X *<T> = (struct X *)malloc(sizeof(struct X) + 5 * sizeof(double)); <T>->n = 5;"
            " <T>->s = <value>; memcpy(<T>->d, <array>, 5 * sizeof(double));",
            "<target> = WRAP(<T>->s + <T>->d[<at>]); free(<T>); }", arrays=("<T>->d",), doubles=("<T>->s",),
            ints=("<T>->n",), frees=True),
    Feature("named", "{ struct M <t>[4] = {{\"one\", 1, <leaf>}, {\"two\", 2, <value>}, {\"three\", 3, 0.4}};"
            " strcpy(<t>[3].name, \"four\"), <t>[3].k = <at>, <t>[3].v = <leaf>;"
            " if (<cond>) { struct M <t>o = <t>[1]; <t>[1] = <t>[3]; <t>[3] = <t>o; }",
            calls=("named(<t>, 4, \"four\")->v",), doubles=("named(<t>, 4, \"two\")->v", "<t>[<at> & 3].v"),
            ints=("<t>[2].k",), most=6),
    Feature("shifted structs", "{ struct S <t>[4] = {<struct>[0], <struct>[1], <struct>[2]}; <t>[3] = <t>[0];"
            " <t>[3].v = <value>; int <t>n = 1 + <at> % 3; memmove(<t>, <t> + 1, <t>n * sizeof *<t>);",
            doubles=("<t>[<at> & 3].v", "<t>[1].z[<at> & 1]"), ints=("<t>[2].k",), most=6),
    Feature("ring", "{ struct { double v[4]; int at, n; } <t> = {{<leaf>, 0.2}, 0, 2}; for (int i = 0; i < <n>; i++) {"
            " <t>.v[(<t>.at + <t>.n) & 3] = <value>; if (<t>.n < 4) <t>.n++; else <t>.at = (<t>.at + 1) & 3; }",
            doubles=("<t>.v[<t>.at & 3]", "<t>.v[(<t>.at + <at>) & 3]"), ints=("<t>.n",), most=6),
    Feature("strides", "{ double <T>[15], *<t> = <T> + 14; for (int i = 0; i < 15; i++) <T>[i] = <leaf> * 0.1 * i;"
            " int <t>s = 1 + <at> % 3; for (int i = 0; i < 4; i++, <t> -= <t>s) *<t> = WRAP(*<t> + <value> * <t>[-1]);",
            arrays=("<T>",), doubles=("*<t>",), most=6),
    Feature("grown structs", "{ int <t>n = 0, <t>m = 1; struct V *<T> = NEW(struct V, 1); for (int i = 0; i < 3; i++) {"
            " if (<t>n == <t>m) { <t>m *= 2; <T> = (struct V *)realloc(<T>, <t>m * sizeof *<T>); }"
            " struct V <t>v = {<array>, i, <leaf>}; <T>[<t>n++] = <t>v; }",
            "<target> = WRAP(<T>[<at> % 3].s * <T>[1].d[<at>]); free(<T>); }", arrays=("<T>[<at> % 3].d",),
            doubles=("<T>[<at> % 3].s",), frees=True, most=6),
    Feature("two results", "{ double <t>, <t>c; struct P2 <t>p; two(<leaf>, <value>, &<t>, &<t>c);"
            " two(<t>, 0.3, &<t>p.a, &<t>p.b);", doubles=("<t>", "<t>c", "<t>p.a", "<t>p.b")),
    # --- control
    Feature("device", "{ int <t> = 3; switch (<at> % 3) { case 0: do { <target> = <value>; case 1: {", "}"
            " case 2: <target> = <value>; } while (--<t> > 0 && <cond>); } }", times=3, ints=("<t>",)),
    Feature("computed goto", "{ void *<t>[3] = {&&<t>a, &&<t>b, &&<t>c}; int <t>k = 0; goto *<t>[<at> % 3];"
            " <t>a: <target> = <value>; if (++<t>k < 4) goto *<t>[<at> % 3]; goto <t>e; <t>b: {",
            "} if (++<t>k < 4) goto *<t>[<at> % 3]; <t>c: <target> = <value>; if (++<t>k < 3) goto <t>a; <t>e: ; }",
            times=4, ints=("<t>k",), once=True, most=6),
    Feature("small counters", "for (unsigned char <t> = 250; <t> > 5; <t>++) for (short <t>j = -1; <t>j < 1; <t>j++)"
            " { long <t>k = <t> - <t>j;", ints=("<t>j", "(int)(<t>k % 9)"), times=12, loop=True),
    Feature("irreducible", "{ int <t> = 0; if (<cond>) goto <t>b; <t>a: ; {",
            "} <t>b: <target> = <value>; if (++<t> < 3 && <cond>) goto <t>a; }", times=3, ints=("<t>",)),
    Feature("exits", "{ int <t> = 0; do { if (<cond>) { <target> = <value>; break; }",
            "if (<leaf> > 1.1) break; } while (++<t> < <n>); }", times=4, loop=True, ints=("<t>",)),
    Feature("triangle", "for (int <t> = 0; <t> < 3; <t>++) for (int <t>j = <t>; <t>j < 3; <t>j++) {", ints=("<t>",
            "<t>j"),
            times=6, loop=True),
    Feature("converge", "{ double <t> = <value>; int <t>i = 0; while (fabs(<t> * <t> - 0.3) > 0.2 && <t>i++ < 5) {",
            "<t> = 0.6 * <t> + 0.2 * cos(<t>); } <target> = <t>; }", doubles=("<t>",), ints=("<t>i",),
            times=5, loop=True),
    Feature("abort", "{ if (<leaf> > 1e6) abort();"),
    Feature("told", "{ char <t>[40]; snprintf(<t>, sizeof <t>, \"%.2f\", (double)<leaf>);"),
    # --- calls
    Feature("libm", "{", calls=("ldexp(<leaf>, <at> - 2)", "cbrt(2.0 + SQ(<leaf>))", "log1p(SQ(<leaf>))", "erf(<leaf>)",
            "expm1(0.3 * tanh(<leaf>))", "fma(<leaf>, <leaf>, 0.3)", "copysign(<leaf>, 1.0 + SQ(<leaf>))")),
    Feature("more libm", "{ double <t>u = <leaf>, <t> = sin(<t>u), <t>c = cos(<t>u); int <t>k;"
            " <t>c += frexp(2.0 + SQ(<t>), &<t>k);",
            doubles=("<t>", "<t>c"), ints=("<t>k",), calls=("atan2(<leaf>, 2.0 + SQ(<leaf>))", "log2(1.5 + SQ(<leaf>))",
            "pow(1.2 + SQ(<leaf>), <leaf>)", "hypot(1.0 + SQ(<leaf>), <leaf>)", "lgamma(2.0 + SQ(<leaf>))",
            "acosh(1.5 + SQ(<leaf>))", "exp2(sin(<leaf>))", "WRAP(sinh(<leaf>))", "erfc(<leaf>)", "asinh(<leaf>)")),
    Feature("operations", "{ const struct O *<t> = &OPERATIONS[<at> & 1];",
            calls=("WRAP(<t>->f(<leaf>, &<elem>))", "WRAP(operated(<t>, <leaf>, &<elem>))"), ints=("<t>->k",)),
    Feature("table", "{ double (*<t>[2])(double, double *) = {square, plain}; if (<cond>) <t>[<at> & 1] = wave;",
            calls=("WRAP(<t>[<at> & 1](<leaf>, &<elem>))",)),
    Feature("chosen", "{ double (*<t>)(double, double *) = <cond> ? square : wave;",
            calls=("WRAP(<t>(<leaf>, &<elem>))",)),
    Feature("mutual", "{", calls=("WRAP(even(<array>, <leaf>, <at>))",), most=6),
    Feature("callback", "{ struct V <T> = {<array>, 1, <leaf>}; double <t> = <leaf>;", doubles=("<T>.s", "<t>"),
            calls=("applied(with_view, &<T>, <at> % 3, <leaf>)", "applied(with_double, &<t>, 2, <leaf>)")),
    Feature("closures", "{ struct V <T> = {<array>, 1, <leaf>}; double <t> = <leaf>;"
            " struct C <T>c[2] = {{with_view, &<T>}, {with_double, &<t>}};", doubles=("<T>.s", "<t>"),
            calls=("applied(<T>c[0].f, <T>c[0].c, 2, <leaf>)", "<T>c[1].f(<leaf>, <T>c[1].c)")),
    Feature("variable arguments", "{ double <t>[2] = {<leaf>, <value>};", doubles=("<t>[<at> & 1]",),
            calls=("several(2, <array>, <leaf>, <at>, <t>, <leaf>, 1)", "several(1, <t>, <leaf>, <at> & 1)")),
    Feature("restrict", "{ double <T>[5] = {<leaf>, 0.2, <value>}; axpy(3 + <at> % 3, <leaf>, <array>, <T>);",
            arrays=("<T>",)),
    Feature("halves", "{", calls=("halves(<array>, 1 + <at>, <leaf>)",), most=6),
    Feature("searched", "{ double <T>[5] = {<value>, <leaf>, 0.1, <leaf>, 0.6}; qsort(<T>, 5, 8, up);"
            " double <t>v = <T>[<at>], *<t> = (double *)bsearch(&<t>v, <T>, 5, 8, up); if (!<t>) <t> = <T>;",
            arrays=("<T>",), doubles=("*<t>",), most=6),
    # --- C++
    Feature("unordered_map", "{ std::unordered_map<int, double> <t>; for (int i = 0; i < 5; i++)"
            " <t>[i * 7 % 5] += <value>;", "for (auto &<t>e : <t>) <target> += 0.1 * <t>e.second * <t>e.first; }",
            doubles=("<t>[<at>]",), calls=("<t>.at(2)",), cxx=True, most=3),
    Feature("dynamic_cast", "{ Round <t>a(<leaf>); Long <t>b(<value>); Shape *<t> = <cond> ? (Shape *)&<t>a : &<t>b;"
            " if (Long *<t>l = dynamic_cast<Long *>(<t>)) <t>l->z[1] = <leaf>;", calls=("<t>->f(<leaf>)",),
            doubles=("<t>->w", "<t>b.z[1]"), cxx=True),
    Feature("variant", "{ using <t>A = std::array<double, 2>; std::variant<<t>A, Vec> <t> = <t>A{<leaf>, 0.2};"
            " if (<cond>) <t> = Vec{<leaf>, <value>};",
            "if (Vec *<t>v = std::get_if<Vec>(&<t>)) <target> = WRAP(<t>v->a * <t>v->b); }",
            calls=("(std::holds_alternative<Vec>(<t>) ? 0.2 : std::get<0>(<t>)[0])",), cxx=True),
    Feature("function by value", "{ double <t>a = <value>; std::function<double(double)> <t> = [<t>a](double u)"
            " { return sin(u * <t>a); }, <t>c = <t>; if (<cond>) <t> = [<t>c](double u) { return <t>c(0.5 * u); };",
            calls=("<t>(<leaf>)", "<t>c(<leaf>)"), cxx=True, most=6),
    Feature("thrown struct", "try { if (<cond>) throw Bad{<at>};", "} catch (const Bad &<t>) {"
            " <target> = <value> * (0.1 * <t>.k); } catch (...) { <target> = <value>; }", throws=True, cxx=True),
    Feature("thrown again", "try { try {", "} catch (...) { <target> = <value>; throw; } } catch (int) {"
            " <target> = <value>; }", throws=True, cxx=True),
    Feature("thrown worth", "try {", "} catch (const Worth &<t>) { <target> = WRAP(<t>.v + <value>); }",
            calls=("dear(&<elem>, <leaf>, <at>)",), cxx=True, most=6),
    Feature("thrown text", "try {", "} catch (const std::exception &<t>) { <target> = <value>; }",
            calls=("checked(<leaf>, <at>)",), cxx=True, most=6),
    Feature("sorted structs", "{ std::vector<Vec> <t>; for (int i = 0; i < 4; i++) <t>.push_back({<leaf> + i, <leaf>});"
            " std::sort(<t>.begin(), <t>.end(), [](const Vec &a, const Vec &b) { return a.a > b.a; });",
            doubles=("<t>[<at> % 4].a", "<t>[<at> & 3].b"), cxx=True, most=3),
    Feature("nothrow", "{ double *<T> = new (std::nothrow) double[5]; if (!<T>) abort(); std::fill_n(<T>, 5, <leaf>);",
            "delete[] <T>; }", arrays=("<T>",), frees=True, cxx=True),
    Feature("own new", "{ Pooled *<t> = new Pooled(<leaf>);", "delete <t>; }", doubles=("<t>->v",),
            calls=("<t>->f(<leaf>)",), frees=True, cxx=True),
    Feature("recursive lambda", "{ auto <t> = [&](auto self, double u, int k) -> double {"
            " return k < 1 ? u : WRAP(self(self, u * 0.9, k - 1) + <elem>); };", calls=("<t>(<t>, <leaf>, <at>)",),
            cxx=True, most=6),
    Feature("bases", "{ Both <t>(<leaf>); Shape *<t>s = &<t>; Named *<t>n = &<t>;",
            calls=("<t>n->g(<leaf>)", "<t>s->f(<leaf>)"), doubles=("<t>.w", "<t>n->n"), cxx=True),
    Feature("diamond", "{ Bottom <t>(<leaf>); Left &<t>l = <t>;", calls=("<t>.all()", "upper(<t>, <leaf>)"),
            doubles=("<t>l.v", "<t>.r", "<t>l.l"), cxx=True),
    Feature("curious", "{ Wave <t>(<leaf>);", calls=("<t>.twice(<leaf>)",), doubles=("<t>.w",), cxx=True),
    Feature("fold", "{", calls=("WRAP(folded(<leaf>, <leaf>, 0.5f))", "listed({<leaf>, <leaf>, 0.2})"), cxx=True),
    Feature("operators", "{ Vec <t>{<leaf>, <value>}; <t> = <t> * <leaf> + Vec{<leaf>, 0.1};",
            calls=("WRAP((<t> + <t> * 0.5)[<at> & 1])",), doubles=("<t>.a", "<t>.b"), cxx=True),
    Feature("members", "{ double Vec::*<t>m = <cond> ? &Vec::a : &Vec::b; Vec <t>{<leaf>, <value>};"
            " double (Vec::*<t>f)(int) const = &Vec::operator[];", doubles=("(<t>.*<t>m)",),
            calls=("(<t>.*<t>f)(<at> & 1)",), cxx=True),
    Feature("placed", "{ alignas(Owner) unsigned char <T>b[sizeof(Owner)]; Owner *<T> = new (<T>b) Owner(<leaf>);",
            "<T>->~Owner(); }", arrays=("<T>->d",), frees=True, cxx=True),
    Feature("moved", "{ std::vector<double> <T>(5, <leaf>), <T>m = std::move(<T>);"
            " <T> = std::vector<double>(6, <value>); std::swap(<T>, <T>m);"
            " auto <t> = std::make_unique<double>(<leaf>), <t>m = std::move(<t>);",
            arrays=("<T>.data()", "<T>m.data()"), doubles=("*<t>m",), cxx=True, most=6),
    Feature("std::valarray", "{ std::valarray<double> <T>((double)<leaf>, 5), <T>c = <T> * <T> + <value>;"
            " <T>c[<at>] = <leaf>;", "<target> = WRAP((<T> * <T>c).sum()); }", cxx=True, most=6,
            arrays=("(&<T>[0])", "(&<T>c[0])")),
    Feature("std::set", "{ std::set<double> <t>; for (int i = 0; i < 4; i++) <t>.insert(<value> + i);",
            "for (double v : <t>) <target> = WRAP(<target> + v); }", calls=("*<t>.begin()", "*<t>.rbegin()"), cxx=True,
            most=3),
    Feature("queue", "{ std::priority_queue<double> <t>; for (int i = 0; i < 4; i++) <t>.push(<leaf> + i); <t>.pop();",
            calls=("<t>.top()",), cxx=True, most=3),
    Feature("more algorithms", "{ std::vector<double> <T>(<A>, <A> + 5); std::rotate(<T>.begin(), <T>.begin() + 2,"
            " <T>.end()); std::partial_sum(<T>.begin(), <T>.end(), <T>.begin()); std::nth_element(<T>.begin(),"
            " <T>.begin() + 2, <T>.end()); std::for_each(<T>.begin(), <T>.end(), [](double &v) { v = WRAP(v); });",
            arrays=("<T>.data()",), calls=("*std::min_element(<T>.begin(), <T>.end())",), cxx=True, most=3),
    Feature("through frames", "try {", "} catch (int <t>) { <target> = <value>; }",
            calls=("through(&<elem>, <leaf>, <at>)",), cxx=True),
    Feature("bound", "{ double <t>a = <leaf>; auto <t> = std::bind(asked, std::placeholders::_1, std::ref(<t>a));"
            " Round <t>r(<value>);", calls=("WRAP(<t>(&<t>r))",), doubles=("<t>a", "<t>r.w"), cxx=True),
    Feature("std::vector", "{ std::vector<double> <T>(5, <leaf>); <T>.push_back(<value>);"
            " <T>.insert(<T>.begin() + 1, <leaf>);", arrays=("<T>.data()",), doubles=("<T>[<at>]", "<T>.back()"),
            calls=("std::accumulate(<T>.begin(), <T>.end(), 0.0)",), cxx=True),
    Feature("vectors", "{ std::vector<std::vector<double>> <T>(2, std::vector<double>(5, 0.3));"
            " <T>.push_back(std::vector<double>(<A>, <A> + 5)); <T>[0][<at>] = <value>;", cxx=True,
            arrays=("<T>[<at> % 3].data()",), most=6),
    Feature("std::array", "{ std::array<double, 5> <T> = {<leaf>, 0.1, <value>}, <T>c = <T>; <T>c[<at>] = <leaf>;",
            arrays=("<T>.data()",), doubles=("<T>c[<at>]", "<T>.front()"), cxx=True),
    Feature("std::map", "{ std::map<int, double> <t>; for (int i = 0; i < 5; i++) <t>[i * 7 % 5] += <value>;",
            "for (auto &<t>e : <t>) <target> += 0.1 * <t>e.second * <t>e.first; }", doubles=("<t>[<at>]",), cxx=True,
            most=3),
    Feature("list and deque",
            "{ std::list<double> <t>(2, <leaf>); <t>.push_front(<value>); std::deque<double> <t>d(3, 0.4);"
            " <t>d.push_front(<leaf>); for (double &<t>r : <t>) {", "} <target> = WRAP(<t>.front() * <t>d.back()); }",
            doubles=("<t>r", "<t>d[<at> % 4]"), times=3, loop=True, cxx=True, most=6),
    Feature("unique_ptr", "{ auto <T> = std::make_unique<double[]>(5); <T>[2] = <value>;"
            " std::unique_ptr<double> <t>(new double(<leaf>));", arrays=("<T>.get()",), doubles=("*<t>",), cxx=True),
    Feature("shared_ptr", "{ auto <t> = std::make_shared<double>(<value>); auto <t>b = <t>; *<t>b *= <leaf>;",
            doubles=("*<t>", "*<t>b"), cxx=True),
    Feature("lambda", "{ auto <t> = [&](double <t>u) -> double {",
            "return WRAP(<t>u); }; <target> = <t>(<value>) + <t>(<leaf>); }", doubles=("<t>u",), leave="return 0.2;",
            times=2, cxx=True),
    Feature("captures", "{ double <t>a = <leaf>; auto <t> = [=, w = <value>](double u) mutable"
            " { w *= 0.9; return w * u + <t>a; };", calls=("<t>(<leaf>)",), doubles=("<t>a",), cxx=True),
    Feature("std::function", "{ double <t>a = <value>; std::function<double(double)> <t> = [&](double u)"
            " { <t>a = WRAP(<t>a + u); return u * <t>a; }; if (<cond>) <t> = [&](double u) { return sin(u) * <t>a; };",
            calls=("WRAP(<t>(<leaf>))",), doubles=("<t>a",), cxx=True),
    Feature("virtual", "{ Round <t>a(<leaf>); Long <t>b(<value>); Shape *<t>[2] = {&<t>a, &<t>b};",
            calls=("<t>[<at> & 1]->f(<leaf>)", "asked(<t>[<at> & 1], <leaf>)"), doubles=("<t>[<at> & 1]->w",
            "<t>b.z[0]"),
            cxx=True),
    Feature("new virtual", "{ Shape *<t> = <cond> ? (Shape *)new Round(<leaf>) : new Long(<value>);", "delete <t>; }",
            calls=("<t>->f(<leaf>)",), doubles=("<t>->w",), frees=True, cxx=True),
    Feature("owned shapes", "{ std::vector<std::unique_ptr<Shape>> <t>; <t>.push_back(std::make_unique<Round>(<leaf>));"
            " <t>.push_back(std::make_unique<Long>(<value>));",
            calls=("<t>[<at> & 1]->f(<leaf>)",), doubles=("<t>[<at> & 1]->w",), cxx=True, most=6),
    Feature("try", "try {", "} catch (int <t>) { <target> = <value>; }", throws=True, cxx=True),
    Feature("risky", "try {", "} catch (int <t>) { <target> = <value>; }", calls=("risky(<leaf>, <at>)",), cxx=True),
    Feature("std::complex", "{ std::complex<double> <t>(<leaf>, <value>), <t>c = <t> * <t> + 0.3;"
            " <t>c /= (<t> + 3.0); <t> = std::exp(0.3 * <t>);", "<target> = WRAP(std::norm(<t>) + <t>c.real()); }",
            doubles=("reinterpret_cast<double *>(&<t>)[<at> & 1]",), calls=("<t>c.imag()", "std::abs(<t> + 4.0)"),
            cxx=True),
    Feature("algorithms", "{ std::vector<double> <T>(<A>, <A> + 5); std::sort(<T>.begin(), <T>.end());"
            " std::reverse(<T>.begin(), <T>.begin() + 3); std::transform(<T>.begin(), <T>.end(), <T>.begin(),"
            " [](double v) { return 0.5 * v + 0.1; });", arrays=("<T>.data()",), cxx=True, most=3,
            calls=("WRAP(std::inner_product(<T>.begin(), <T>.end(), <array>, 0.1))",
                   "*std::max_element(<T>.begin(), <T>.end())")),
    Feature("tuple", "{ std::tuple<double, int, double> <t>(<leaf>, 2, <value>); auto [<t>a, <t>k, <t>c] = <t>;"
            " std::pair<int, double> <t>p(1, <leaf>);", doubles=("<t>a", "<t>c", "<t>p.second"), ints=("<t>k",),
            cxx=True),
    Feature("optional", "{ std::optional<double> <t>; if (<cond>) <t> = <value>;",
            "if (<t>) <target> = *<t>; }", calls=("<t>.value_or(0.3)",), cxx=True),
    Feature("guard", "{ Guard <t>(&<elem>, <leaf>);", doubles=("<t>.v",), cxx=True),
    Feature("owner", "{ Owner <T>(<leaf>), <T>c(<T>);", arrays=("<T>.d", "<T>c.d"), calls=("summed(<T>, <leaf>)",),
            cxx=True),
    Feature("new array", "{ double *<T> = new double[5](); <T>[<at>] = <value>;", "delete[] <T>; }", arrays=("<T>",),
            frees=True, cxx=True),
    Feature("reference", "{ double &<t> = <elem>; const double &<t>c = <leaf>;", doubles=("<t>",), calls=("<t>c",),
            cxx=True),
    Feature("range", "{ double <T>[3] = {<leaf>, 0.2, <value>}; for (double &<t> : <T>) {",
            "} <target> = WRAP(<T>[1]); }",
            doubles=("<t>",), times=3, loop=True, cxx=True),
    Feature("template", "{", calls=("Power<3>::of(<leaf>)",), cxx=True),
    Feature("owned tree", "{ auto <t> = leafy(<leaf>, 2 + <at> % 3); <t>->l->v = <value>;",
            calls=("<t>->sum(<leaf>)",), doubles=("<t>->v", "<t>->r->v"), cxx=True, most=3),
    Feature("map of text", "{ std::map<std::string, double> <t>; <t>[\"one\"] = <value>;"
            " <t>[\"a name too long for a small string\"] = <leaf>;",
            "for (auto &[<t>k, <t>v] : <t>) <target> = WRAP(<target> + <t>v * <t>k.size()); }",
            doubles=("<t>[\"one\"]",), calls=("<t>.count(\"one\") * <leaf>",), cxx=True, once=True, most=3),
    Feature("records", "{ std::vector<Labelled> <t>; <t>.push_back({\"one\", <value>});"
            " <t>.push_back({\"two\", <leaf>});"
            " if (<cond>) std::swap(<t>[0], <t>[1]);",
            "for (const auto &<t>o : <t>) if (<t>o.name == \"two\") <target> = <t>o.v; }",
            doubles=("<t>[<at> & 1].v",), cxx=True, once=True, most=3),
    Feature("visited", "{ std::variant<double, Disc, Box3> <t> = <leaf>; if (<cond>) <t> = Disc{<value>};"
            " else if (<cond>) <t> = Box3{<leaf>, <value>, <at>};",
            calls=("std::visit(Overloaded{[](double v) { return v; }, [](const Disc &o) { return o.r * o.r; },"
                   " [](const Box3 &o) { return o.a * o.b + o.n; }}, <t>)",), cxx=True, most=3),
    Feature("shared shapes", "{ std::list<std::shared_ptr<Shape>> <t>{std::make_shared<Round>(<leaf>)};"
            " <t>.push_front(std::make_shared<Long>(<value>)); auto <t>o = <cond> ? <t>.front() : <t>.back();",
            calls=("<t>o->f(<leaf>)", "<t>.front()->f(<leaf>)"), doubles=("<t>o->w",), cxx=True, most=3),
    Feature("multimap", "{ std::multimap<double, double> <t>; for (int i = 0; i < 3; i++)"
            " <t>.emplace(<leaf> + i, <value>);", doubles=("<t>.begin()->second",), cxx=True, most=3,
            calls=("<t>.begin()->first", "WRAP(<t>.rbegin()->second)")),
    Feature("flags", "{ std::vector<bool> <t>(5, <cond>); <t>[<at>] = <cond>; std::vector<int> <t>i{3, 0, 1, 4, 2};"
            " std::swap(<t>i[<at>], <t>i[1]);", calls=("(<t>[<at>] ? <leaf> : 0.2)",), ints=("<t>i[1]",), cxx=True),
    Feature("Eigen", "{ Eigen::Vector3d <t>(<leaf>, <value>, 0.3); Eigen::Matrix3d <t>m = <t> * <t>.transpose();"
            " <t>m += 2.0 * Eigen::Matrix3d::Identity(); <t> = <t>m.inverse() * <t> + <t>.cross(<t>m.col(1));",
            doubles=("<t>(<at> % 3)", "<t>m(1, <at> % 3)"), calls=("WRAP(<t>.dot(<t>m * <t>))",), cxx=True, most=3,
            once=True, needs="eigen3/Eigen/Dense"),
    Feature("Eigen of any size", "{ Eigen::VectorXd <T> = Eigen::VectorXd::Constant(5, <leaf>);"
            " Eigen::MatrixXd <T>m(5, 2); Eigen::Map<Eigen::VectorXd> <T>a(<array>, 5);"
            " <T>m << <T>, <T>a.array().sin().matrix();"
            " <T> = 0.3 * <T>m.lazyProduct(<T>m.topRows(2)).rowwise().sum() + <T>a;",
            "<T>a(<at>) = WRAP(<T>.squaredNorm()); }", arrays=("<T>.data()",), doubles=("<T>(<at>)", "<T>m(<at>, 1)"),
            cxx=True, most=3, once=True, needs="eigen3/Eigen/Dense"),
)  # fmt: skip
