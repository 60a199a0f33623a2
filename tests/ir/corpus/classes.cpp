// Classes, virtual calls, templates, exceptions, lambdas, RTTI, static initialisation, strings.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct Shape { virtual ~Shape() = default; virtual double area() const = 0; virtual int kind() const { return 0; } };
struct Named { std::string name; virtual const char *label() const { return name.c_str(); } virtual ~Named() {} };
struct Circle : Shape { double r; explicit Circle(double r) : r(r) {} double area() const override { return M_PI * r * r; } };
struct Square : virtual Shape, Named { double s; explicit Square(double s) : s(s) {} double area() const override { return s * s; } int kind() const override { return 1; } };
}
template <class T, int N> struct Vec {
    T data[N];
    T &operator[](int i) { return data[i]; }
    friend Vec operator+(Vec a, const Vec &b) { for (int i = 0; i < N; i++) a.data[i] += b.data[i]; return a; }
    T norm() const { return std::sqrt(std::inner_product(data, data + N, data, T(0))); }
};
template <class T> struct Dual { T v, d; Dual operator*(Dual o) const { return {v * o.v, v * o.d + d * o.v}; }
    Dual operator+(Dual o) const { return {v + o.v, d + o.d}; } };

double total(const std::vector<std::unique_ptr<Shape>> &shapes) {
    double s = 0;
    for (auto &p : shapes) s += p->area() * (dynamic_cast<Square *>(p.get()) ? 2 : 1);
    return s;
}
double build(int n) {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < n; i++) { if (i % 2) shapes.push_back(std::make_unique<Circle>(i)); else shapes.push_back(std::make_unique<Square>(i)); }
    return total(shapes);
}
int checked(const std::vector<int> &v, int i) {
    try {
        if (i < 0) throw std::invalid_argument("negative: " + std::to_string(i));
        return v.at(i);
    } catch (const std::out_of_range &e) {
        return -static_cast<int>(std::string(e.what()).size());
    } catch (std::exception &) {
        throw;
    } catch (...) {
        return 0;
    }
}
double apply(const std::function<double(double)> &f, double x) { return f(f(x)); }
double closures(double a) { double total = 0; auto g = [a, &total](double x) { total += x; return a * x + 1; }; return apply(g, 2) + total; }
std::map<std::string, double> histogram(const std::vector<std::string> &w) { std::map<std::string, double> m; for (auto &s : w) m[s] += 1; return m; }
float vec(float x) { Vec<float, 3> a{{x, 2, 3}}, b{{1, x, 1}}; return (a + b).norm(); }
double dual(double x) { Dual<Dual<double>> d{{x, 1}, {1, 0}}; return (d * d * d).d.d; }
static std::string &greeting() { static std::string s("hello \"world\""); return s; }
std::size_t length() noexcept { return greeting().size(); }
void sorted(std::vector<double> &v) { std::sort(v.begin(), v.end(), [](double a, double b) { return std::fabs(a) < std::fabs(b); }); }
thread_local std::vector<int> cache;
void remember(int i) { cache.push_back(i); }
int (Shape::*member)() const = &Shape::kind;
int call_member(const void *s) { return (static_cast<const Shape *>(s)->*member)(); }
double *array(int n) { return new double[n](); }
void destroy(Named *p) noexcept { delete p; }
inline double once = build(3);
