// What is given is copied into vectors first, by whom it is read: whole, in parts, on into another, in second derivatives.
#include "selfcheck.h"
#include <cmath>
#include <vector>

struct Model {
    std::vector<double> w;
    double bias;
    double operator()(double t) const
    {
        double s = bias;
        for (double v : w) s = s * t + v * std::sin(v);
        return s;
    }
};

static double of_model(const double *x, int n)
{
    const Model model{std::vector<double>(x, x + n), 0.5};
    double s = 0;
    for (int k = 0; k < 4; k++) s += model(0.2 * k) * model(1 - 0.1 * k);
    return s;
}

static double of_parts(const double *x, int n)
{
    double s = 0;
    for (int k = 1; k < n; k++) {
        const std::vector<double> pair(x + k - 1, x + k + 1);
        s += pair[0] * pair[1] * s + pair[0];
    }
    return s;
}

static double handed_on(const double *x, int n)
{
    const std::vector<double> first(x, x + n);
    std::vector<double> second = first;
    for (int i = 1; i < n; i++) second[i] *= second[i - 1];
    return second.back() + first[0] * first[1];
}

static double beside(const double *x, int n)
{
    const std::vector<double> copy(x, x + n);
    double s = 0;
    for (int i = 0; i < n; i++) s += copy[i] * x[n - 1 - i] * x[0] + copy[0] * s;
    return s;
}

static double of_gradient(const double *x, int n)
{
    std::vector<double> slopes(n);
    __enzyme_autodiff((void *)of_model, enzyme_dup, x, slopes.data(), enzyme_const, n);
    return slopes[0] * slopes[1] + slopes[n - 1];
}

int main()
{
    CHECK_GRADIENT(of_model, 5);
    CHECK_GRADIENT(of_parts, 5);
    CHECK_GRADIENT(handed_on, 5);
    CHECK_GRADIENT(beside, 5);
    CHECK_GRADIENT(of_gradient, 5);
    double x[5], one[5], two[5], alone[5];
    sample(x, 5), clear(one, 5), clear(two, 5), clear(alone, 5);
    __enzyme_autodiff((void *)of_model, enzyme_dup, x, alone, enzyme_const, 5);
    __enzyme_autodiff((void *)of_model, enzyme_width, 2, enzyme_dup, x, one, two, enzyme_const, 5);
    for (int i = 0; i < 5; i++) {
        expect("of two lanes the first", i, one[i], alone[i]);
        expect("of two lanes the second", i, two[i], alone[i]);
    }
    return failures();
}
