// Maps from text to numbers, and to structs of text, an integer and a number.
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
namespace {
static double table(double *x, int n) {
    std::unordered_map<std::string, double> t;
    for (int i = 0; i < n; i++) t["key" + std::to_string(i % 3)] += x[i] * x[i];
    double s = 0;
    for (auto &p : t) s += std::sin(p.second);
    return s;
}
struct Entry { std::string name; int count; double value; };
static double entries(double *x, int n) {
    std::map<std::string, Entry> t;
    for (int i = 0; i < n; i++) {
        std::string key = i % 2 ? "a" : "a very long key that needs the heap";
        auto &e = t[key];
        e.name = key + "!"; e.count++; e.value += x[i] * std::cos(x[i]);
    }
    double s = 0;
    for (auto &p : t) s += p.second.value * p.second.count * p.second.name.size();
    return s;
}
}
extern "C" double named_values(double *x, int n) { return table(x, n) + entries(x, n); }
