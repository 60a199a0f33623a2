// Objects with names behind unique pointers; one cannot be made.
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
namespace {
struct Shape { std::string name; explicit Shape(std::string n) : name(std::move(n)) {} virtual ~Shape() = default; virtual double area() const = 0; };
struct Circle : Shape { double r; Circle(double r) : Shape("circle"), r(r) { if (r < 0) throw std::invalid_argument("radius of " + name); } double area() const override { return M_PI * r * r; } };
struct Box : Shape { double a, b; Box(double a, double b) : Shape("a rectangular box with two sides"), a(a), b(b) {} double area() const override { return a * b; } };
}
extern "C" double named_shapes(double *x, int n) {
    std::vector<std::unique_ptr<Shape>> v; std::map<std::string, double> areas;
    for (int i = 0; i + 1 < n; i++) { if (i % 2) v.push_back(std::make_unique<Circle>(x[i])); else v.push_back(std::make_unique<Box>(x[i], x[i + 1])); }
    try { v.push_back(std::make_unique<Circle>(-x[0])); } catch (const std::invalid_argument &e) { areas["error"] += x[4] * x[4]; }
    for (auto &s : v) areas[s->name] += s->area();
    double t = 0; for (auto &[k, a] : areas) t += std::log(1 + a) * k.size();
    return t;
}
