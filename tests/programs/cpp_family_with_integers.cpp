// A family of classes whose members differ, integers beside doubles, behind pointers to the base.
#include "selfcheck.h"
#include <memory>
#include <vector>
struct shape {
    virtual double area(double scale) const = 0;
    virtual void grow(double) {}
    virtual ~shape() {}
};
struct square : shape {
    double side;
    explicit square(double s) : side(s) {}
    double area(double scale) const override { return side * side + scale; }
    void grow(double by) override { side *= by; }
};
struct rings : shape {
    int count;
    double radius;
    explicit rings(double r) : count(2), radius(r) {}
    double area(double scale) const override { return radius * radius * count + scale; }
    void grow(double by) override { radius += by, count++; }
};
static double f(const double *x, int n)
{
    std::vector<std::unique_ptr<shape>> all;
    for (int i = 0; i < n; i++)
        if (i % 2)
            all.push_back(std::make_unique<square>(x[i]));
        else
            all.push_back(std::make_unique<rings>(x[i]));
    double sum = 0;
    for (auto &s : all) {
        sum += s->area(sum * 0.1);
        s->grow(x[0]);
        sum += s->area(0);
    }
    return sum;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
