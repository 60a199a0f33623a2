// Pairs that are sorted, a priority queue, optional, tuple.
#include "selfcheck.h"
#include <algorithm>
#include <vector>
#include <queue>
#include <optional>
#include <tuple>
static double sorted(const double *x, int n)
{
    std::vector<std::pair<double, int>> v;
    for (int i = 0; i < n; i++) v.emplace_back(x[i] * (i % 2 ? -1 : 1), i);
    std::sort(v.begin(), v.end(), [](auto &a, auto &b) { return a.first > b.first; });
    std::priority_queue<double> q;
    for (auto &p : v) q.push(p.first * (p.second + 1));
    double s = 0, w = 1;
    while (!q.empty()) { s += w * q.top() * q.top(); w *= 0.5; q.pop(); }
    std::optional<double> o; if (n > 2) o = s;
    auto t = std::make_tuple(o.value_or(0), x[0], n);
    return std::get<0>(t) * std::get<1>(t) + v[0].first;
}
int main() { CHECK_GRADIENT(sorted, 5); return failures(); }
