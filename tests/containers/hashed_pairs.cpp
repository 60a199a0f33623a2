// A graph whose edges have integers and lengths: the padding between them lies where the hash table's own bucket,
// a pointer, is declared for nodes.
#include <unordered_map>
#include <utility>
#include <vector>
extern "C" double hashed_pairs(double *x, int n) {
    std::unordered_map<int, std::vector<std::pair<int, double>>> edges;
    for (int i = 0; i < n; i++) edges[i].push_back({i + 1, x[i] * x[0]});
    double s = 0;
    for (int i = 0; i < n; i++)
        for (auto &e : edges[i]) s += e.first * e.second * e.second;
    return s;
}
