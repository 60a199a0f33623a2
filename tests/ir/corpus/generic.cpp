// No library: constructs whose IR is unusual.
struct Guard { int *p; ~Guard() noexcept(false) { --*p; if (*p < 0) throw *p; } };
int unwind(int n) {
    Guard a{&n};
    try { Guard b{&n}; if (n > 3) throw 2.5; return n; } catch (double d) { return int(d); } catch (int *) { return 7; }
}
struct Big { double x[20]; Big(const Big &) = default; Big() : x{} {} };
Big pass(Big b, int i) { b.x[i] += 1; return b; }
struct Pair { double a; int b; };
Pair make(double x) { return {x, int(x)}; }
struct Two { float a, b; };
Two two(Two t) { return {t.b, t.a}; }
template <class... T> double sum(T... t) { return (0.0 + ... + t); }
double spread(int a, float b, long c) { return sum(a, b, c, 'x', true); }
constexpr int powers(int n) { int s = 1; while (n--) s *= 3; return s; }
extern const int cubed = powers(3);
int reference(int &&r, const int &c) { return r += c; }
enum class Mode : unsigned char { off, on = 200 };
Mode flip(Mode m) { return m == Mode::on ? Mode::off : Mode::on; }
struct Base { virtual Base *clone() { return this; } int base = 1; };
struct Left : virtual Base { int left = 2; };
struct Right : virtual Base { int right = 3; };
struct Join : Left, Right { Join *clone() override { return this; } int join = 4; };
Base *upcast(Join *j) { return j->clone(); }
int pointer_to_member(Join *j, int Join::*p) { return j->*p; }
namespace outer { inline namespace v1 { template <class T> T identity(T t) { return t; } template double identity<double>(double); } }
auto lambda = [](auto x) mutable { return x + x; };
double call() { return lambda(2.5) + lambda(1); }
void *operator new(unsigned long, void *p) noexcept;
struct alignas(32) Aligned { double d[4]; };
Aligned aligned(const Aligned &a) { Aligned b = a; b.d[0] = 1; return b; }
int noexcept_call(int (*f)(int)) noexcept { return f(1); }
struct Coro { int state; };
using Fn = int (*)(int) noexcept;
int nullptrs(decltype(nullptr) n, Fn f) { return n == nullptr && f ? f(3) : 0; }
