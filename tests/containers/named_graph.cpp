// A graph in hash tables of text, side by side in one struct, and a set of what was visited.
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
namespace {
struct Graph { std::unordered_map<std::string, std::vector<std::pair<std::string, double>>> edges; std::unordered_map<std::string, double> value; };
static double visit(const Graph &g, const std::string &at, std::set<std::string> &seen) {
    if (!seen.insert(at).second) return 0;
    double s = g.value.at(at);
    auto f = g.edges.find(at);
    if (f != g.edges.end()) for (auto &[to, w] : f->second) s += w * visit(g, to, seen);
    return s;
}
}
extern "C" double named_graph(double *x, int n) {
    Graph g; const char *names[] = {"alpha", "beta", "gamma", "delta", "epsilon of a long name"};
    for (int i = 0; i < 5; i++) { g.value[names[i]] = x[i] * x[i]; g.edges[names[i]].push_back({names[(i + 1) % 5], x[(i + 2) % 5]}); g.edges[names[i]].push_back({names[(i * 2) % 5], 0.5}); }
    std::set<std::string> seen;
    return visit(g, "alpha", seen);
}
