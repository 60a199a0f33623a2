// Who makes an object computes with a number, which becomes a double through a pointer to the base class; virtual
// functions move the bits, as a number and as bytes.
#include "selfcheck.h"
#include <memory>
#include <vector>
union either {
    long i;
    double d;
};
struct cell {
    either u, v;
    virtual ~cell() = default;
    virtual void keep() = 0;
};
struct plain : cell {
    explicit plain(long k) { u.i = k, u.i *= 3, v.i = u.i + 1; }
    void keep() override { v.i = u.i; }
};
struct counted : cell {
    long kept;
    explicit counted(long k) { u.i = k, u.i = u.i * k + 1, v.i = u.i - 1, kept = v.i; }
    void keep() override { kept++, v = u; }
};
__attribute__((noinline)) static void put(cell *c, double x) { c->u.d = x; }
__attribute__((noinline)) static double get(const cell *c) { return c->v.d * c->v.d; }
static double f(const double *x, int n)
{
    std::vector<std::unique_ptr<cell>> all;
    for (int i = 0; i < n; i++)
        if (i % 2)
            all.push_back(std::make_unique<plain>(i));
        else
            all.push_back(std::make_unique<counted>(i));
    for (int i = 0; i < n; i++)
        put(all[i].get(), sin(x[i]));
    double s = 0;
    for (auto &c : all)
        c->keep(), s += get(c.get());
    return s;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
