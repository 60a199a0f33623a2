// Maps, sets and lists whose nodes hold different things, in one function: all are linked by the same functions of the
// library, which each know one kind of node at a time.
#include "selfcheck.h"
#include <list>
#include <map>
#include <set>
#include <string>
static double f(const double *x, int n)
{
    std::map<int, double> by_number;
    std::map<std::string, double> by_name;
    std::map<double, int> ranks;
    std::set<int> seen;
    std::list<double> values;
    std::list<std::string> names;
    for (int i = 0; i < n; i++) {
        by_number[(5 * i) % 4] += x[i] * x[i];
        by_name[i % 3 ? "beta" : "alpha"] += sin(x[i]);
        ranks[x[i]] = i;
        seen.insert(i % 3);
        values.push_back(x[i]);
        names.push_back(i % 2 ? "gamma" : "beta");
    }
    by_number.erase(1);
    double sum = 0;
    for (auto &p : by_number) sum += p.second * p.second * (p.first + 1);
    for (auto &p : ranks) sum += p.first * p.first * p.second;
    for (int k : seen) sum *= x[k];
    auto v = values.begin();
    for (auto &name : names) sum += *v++ * (by_name.count(name) ? by_name[name] : 2);
    return sum;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
