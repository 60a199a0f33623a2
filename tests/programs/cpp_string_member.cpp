// Names and numbers in one object: the members of std::string are code of the library, and move bytes about.
#include "selfcheck.h"
#include <string>
#include <vector>
struct named { std::string name; double value; };
static double f(const double *x, int n)
{
    std::vector<named> list;
    for (int i = 0; i < n; i++) {
        list.push_back({"a rather long name for a number", x[i]});
        list.back().name += " and more";
    }
    double sum = 0;
    for (auto &l : list)
        sum += l.value * l.value * static_cast<double>(l.name.size());
    return sum;
}
int main() { CHECK_GRADIENT(f, 3); return failures(); }
