// Strings beside numbers: they have no derivative.
#include "selfcheck.h"
#include <string>
#include <vector>
struct named { std::string name; double value; };
static double f(const double *x, int n)
{
    std::vector<named> list;
    for (int i = 0; i < n; i++)
        list.push_back({"name " + std::to_string(i), x[i] * x[i]});
    double sum = 0;
    for (auto &l : list)
        sum += l.value * static_cast<double>(l.name.size());
    return sum;
}
int main() { CHECK_GRADIENT(f, 3); return failures(); }
