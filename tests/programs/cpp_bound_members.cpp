// Members bound to their object in functions that a vector keeps beside closures. (A member pointer may be a virtual one.)
#include "selfcheck.h"
#include <functional>
#include <vector>
struct recorder {
    double gain, sum;
    void add(double v) { sum += v * gain; }
};
struct signal_of {
    std::vector<std::function<void(double)>> slots;
    void connect(std::function<void(double)> slot) { slots.push_back(std::move(slot)); }
    void emit(double v) { for (auto &slot : slots) slot(v); }
};
static double f(const double *x, int n)
{
    recorder r{x[0], 0};
    signal_of changed;
    double squares = 0;
    changed.connect([&](double v) { squares += v * v; });
    changed.connect(std::bind(&recorder::add, &r, std::placeholders::_1));
    changed.connect([&r, k = x[1]](double v) { r.gain *= 1 + 0.1 * v * k; });
    for (int i = 0; i < n; i++) changed.emit(x[i]);
    return r.sum + squares;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
