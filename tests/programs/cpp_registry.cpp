// Makers that classes register under their names, in a map that a function keeps: it is released when the program ends.
#include "selfcheck.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
struct potential {
    virtual double energy(double r) const = 0;
    virtual ~potential() = default;
};
class registry {
    std::map<std::string, std::function<std::unique_ptr<potential>(const double *)>> makers;
public:
    static registry &get()
    {
        static registry only;
        return only;
    }
    template <class T> bool add(const char *name)
    {
        makers[name] = [](const double *p) { return std::make_unique<T>(p); };
        return true;
    }
    std::unique_ptr<potential> make(const char *name, const double *p) const { return makers.find(name)->second(p); }
};
struct square : potential {
    double a;
    square(const double *p) : a(p[0]) {}
    double energy(double r) const override { return a * r * r; }
};
struct morse : potential {
    double depth, a;
    morse(const double *p) : depth(p[1]), a(p[2]) {}
    double energy(double r) const override { return depth * (1 - exp(-a * r)); }
};
static bool squares = registry::get().add<square>("square"), morses = registry::get().add<morse>("morse");
static double f(const double *x, int n)
{
    double sum = 0;
    for (const char *name : {"square", "morse"}) sum += registry::get().make(name, x)->energy(x[n - 1]);
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
