// std::sort of active data with a lambda, std::accumulate, std::transform.
#include <algorithm>
#include <numeric>
#include <vector>
struct P { double key; int id; };
extern "C" double sort_active(double *x, int n) {
    std::vector<P> v;
    for (int i = 0; i < n; i++) v.push_back({x[i] * x[0], i});
    double pivot = x[2];
    std::sort(v.begin(), v.end(), [](const P &a, const P &b) { return a.key < b.key; });
    std::vector<double> w(v.size());
    std::transform(v.begin(), v.end(), w.begin(), [pivot](const P &p) { return p.key * pivot + p.id; });
    double s = std::accumulate(w.begin(), w.end(), 1.0, [](double a, double b) { return a * 0.5 + b * b; });
    return s + v.front().key * v.back().key;
}
