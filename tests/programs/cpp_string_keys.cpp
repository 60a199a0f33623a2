// std::unordered_map with strings as keys: nodes in lists behind buckets, of which there is one to begin with.
#include "selfcheck.h"
#include <string>
#include <unordered_map>
static double f(const double *x, int n)
{
    std::unordered_map<std::string, double> sums;
    for (int i = 0; i < n; i++)
        sums[i % 2 ? "odd" : "even"] += x[i] * x[i];
    double sum = 0;
    for (auto &[name, value] : sums)
        sum += sin(value) * name.size();
    return sum + sums.at("odd");
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
