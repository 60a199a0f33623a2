// std::function that captures a double and an integer, or either alone: in a vector, assigned, called.
#include "selfcheck.h"
#include <functional>
#include <vector>
static double both(const double *x, int n)
{
    std::vector<std::function<double(double)>> all;
    for (int i = 0; i < n; i++)
        all.push_back([a = x[i], i](double y) { return a * y + i; });
    double y = 1;
    for (auto &f : all)
        y = f(y);
    return y;
}
static double either(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        std::function<double(double)> f;
        if (i % 2)
            f = [a = x[i]](double y) { return a * y; };
        else
            f = [i](double y) { return i * y; };
        sum += f(x[0]);
    }
    return sum;
}
int main()
{
    CHECK_GRADIENT(both, 4);
    CHECK_GRADIENT(either, 4);
    return failures();
}
