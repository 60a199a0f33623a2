// std::any in a vector that grows: a function that manages it, beside a double or an int.
#include "selfcheck.h"
#include <any>
#include <vector>
static double f(const double *x, int n)
{
    std::vector<std::any> all;
    for (int i = 0; i < n; i++)
        if (i % 2)
            all.push_back(i);
        else
            all.push_back(x[i] * x[0]);
    double s = 0;
    for (auto &a : all)
        if (auto *d = std::any_cast<double>(&a))
            s += *d * *d;
        else
            s += std::any_cast<int>(a) * x[0];
    return s;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
