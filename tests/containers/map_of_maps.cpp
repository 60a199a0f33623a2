// A map of maps with text for keys, beside a multimap and a set of numbers.
#include <map>
#include <set>
#include <string>
extern "C" double map_of_maps(double *x, int n) {
    std::map<std::string, std::map<std::string, double>> table;
    std::multimap<int, double> groups;
    std::set<int> seen;
    for (int i = 0; i < n; i++) {
        table[i % 2 ? "odd" : "even"][i % 3 ? "u" : "v"] += x[i] * x[i];
        groups.insert({i % 3, x[i] * x[i]});
        seen.insert(i % 3);
    }
    double s = 0;
    for (auto &row : table) {
        double t = 0;
        for (auto &cell : row.second) t += cell.second * cell.first[0] * 0.01;
        s += t * t;
    }
    for (int k : seen) {
        auto range = groups.equal_range(k);
        for (auto it = range.first; it != range.second; ++it) s *= it->second;
    }
    return s;
}
