// gradient of functions of containers.
#include "selfcheck.h"
#include <enzyme/enzyme>
static double rosenbrock(const std::vector<double> &x)
{
    double s = 0;
    for (std::size_t i = 0; i + 1 < x.size(); i++)
        s += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
    return s;
}
int main()
{
    std::vector<double> x{0.5, 0.7, 0.2};
    auto d = enzyme::gradient(rosenbrock, x);
    for (int i = 0; i < 3; i++) {
        double v[4];
        for (int k = 0; k < 4; k++) {
            auto y = x;
            y[i] += stencil_steps[k] * 1e-3;
            v[k] = rosenbrock(y);
        }
        expect("vector", i, d[i], stencil(v, 1e-3));
    }
    auto e = enzyme::gradient([](const std::array<double, 2> &p) { return p[0] * std::sin(p[1]); }, std::array<double, 2>{2, 1});
    expect("array", 0, e[0], std::sin(1));
    expect("array", 1, e[1], 2 * std::cos(1));
    return failures();
}
