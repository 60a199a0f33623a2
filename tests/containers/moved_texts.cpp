// Structs with text are sorted, queued, swapped, rotated; functions are found by text.
#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
namespace {
struct Row { std::string key; double a, b; int rank; };
static double sorted(double *x, int n) {
    std::vector<Row> rows;
    for (int i = 0; i < n; i++) rows.push_back({"row " + std::to_string((i * 7) % 5), x[i], x[i] * x[i], i});
    std::sort(rows.begin(), rows.end(), [](const Row &p, const Row &q) { return p.key < q.key; });
    double s = 0;
    for (size_t i = 0; i < rows.size(); i++) s += rows[i].a * std::cos(rows[i].b) * (i + 1) + rows[i].rank * rows[i].b;
    return s;
}
struct Event { double time; std::string what; bool operator<(const Event &o) const { return time > o.time; } };
static double events(double *x, int n) {
    std::priority_queue<Event> q;
    for (int i = 0; i < n; i++) q.push({x[i], i % 2 ? "grow" : "shrink by a factor"});
    std::unordered_map<std::string, std::function<double(double, double)>> act{
        {"grow", [](double s, double t) { return s * (1 + t); }}, {"shrink by a factor", [](double s, double t) { return s / (1 + t * t); }}};
    double s = 1;
    while (!q.empty()) { Event e = q.top(); q.pop(); s = act.at(e.what)(s, e.time); }
    return s;
}
static double moved(double *x, int n) {
    std::vector<std::pair<std::string, std::vector<double>>> v;
    for (int i = 0; i < n; i++) { std::string s = "n"; s += std::to_string(i); s.append(20 * (i % 2), '-'); v.emplace_back(std::move(s), std::vector<double>{x[i], x[(i + 1) % n]}); }
    std::swap(v[0], v[1]); std::rotate(v.begin(), v.begin() + 2, v.end()); std::reverse(v.begin(), v.end());
    v.erase(v.begin() + 1); v.insert(v.begin(), {"new", {x[2] * x[3]}});
    double s = 0; for (auto &[k, w] : v) for (double d : w) s = s * 0.7 + d * k.size() * d + (k.find('-') != std::string::npos ? d : 0) + (k[0] == 'n' ? 0.1 * d : 0);
    return s;
}
}
extern "C" double moved_texts(double *x, int n) { return sorted(x, n) + events(x, n) + moved(x, n); }
