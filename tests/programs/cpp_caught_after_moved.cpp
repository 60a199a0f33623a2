// A throw that is caught inside: what the callee cleaned up is needed by the reverse sweep of what ran before.
#include "selfcheck.h"
#include <memory>
#include <stdexcept>
#include <vector>
struct Box {
    std::vector<double> v;
    int n = 0;
};
__attribute__((noinline)) static double consumed(std::unique_ptr<Box> box, double limit)
{
    double last = box->v.back();
    std::vector<double> scratch(box->v);
    for (double &s : scratch)
        s *= s;
    if (scratch[0] > limit)
        throw std::runtime_error("large");
    return last * scratch[0];
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        std::unique_ptr<Box> box(new Box);
        for (int i = 0; i < n; i++)
            box->v.push_back(x[(i + k) % n] * x[i]);
        double before = 1;
        for (double v : box->v)
            before *= 1 + v * v;
        double other = 3;
        try {
            other = consumed(std::move(box), 1.0);
        } catch (const std::runtime_error &) {
            sum += x[k];
        }
        sum += before * other;
    }
    return sum;
}
int main()
{
    CHECK_GRADIENT(f, 4);
    return failures();
}
