// jacobian of maps between arrays and between vectors.
#include "selfcheck.h"
#include <enzyme/enzyme>
static std::vector<double> map(const std::vector<double> &x)
{
    std::vector<double> y(x.size() + 1, 1.0);
    for (std::size_t i = 0; i < x.size(); i++) {
        y[i] = x[i] * x[0];
        y.back() *= x[i];
    }
    return y;
}
int main()
{
    auto a = enzyme::jacobian([](const std::array<double, 2> &x) { return std::array<double, 3>{x[0] * x[1], x[0], std::exp(x[1])}; },
                              std::array<double, 2>{2, 3});
    double wanted[3][2] = {{3, 2}, {1, 0}, {0, std::exp(3)}};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 2; i++)
            expect("array", 2 * j + i, a[j][i], wanted[j][i]);
    auto v = enzyme::jacobian(enzyme::function<map>{}, std::vector<double>{2, 3});
    double of_vector[3][2] = {{4, 0}, {3, 2}, {3, 2}};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 2; i++)
            expect("vector", 2 * j + i, v[j][i], of_vector[j][i]);
    return failures();
}
