// A family of classes behind unique pointers in a vector.
#include <cmath>
#include <memory>
#include <vector>
struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual void scale(double) = 0;
};
struct Circle final : Shape {
    double r;
    explicit Circle(double r) : r(r) {}
    double area() const override { return 3.14 * r * r; }
    void scale(double c) override { r *= c; }
};
struct Box final : Shape {
    double a, b;
    int count = 0;
    Box(double a, double b) : a(a), b(b) {}
    double area() const override { return a * b; }
    void scale(double c) override { a *= c; count++; }
};
extern "C" double virtual_family(double *x, int n) {
    std::vector<std::unique_ptr<Shape>> all;
    for (int i = 0; i < n; i++)
        if (i % 2) all.push_back(std::make_unique<Circle>(x[i]));
        else all.push_back(std::make_unique<Box>(x[i], x[0]));
    double s = 0;
    for (auto &p : all) {
        p->scale(1 + x[1]);
        s += std::sin(p->area());
    }
    return s;
}
