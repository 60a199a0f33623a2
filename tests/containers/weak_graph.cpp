// Nodes that know those before them by weak pointers, with a weight beside each, in vectors that grow.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>
namespace {
struct Node {
    double value = 0;
    std::vector<std::pair<std::weak_ptr<Node>, double>> before;
};
}
extern "C" double weak_graph(double *x, int n) {
    std::vector<std::shared_ptr<Node>> net;
    for (int i = 0; i < n; i++) {
        auto p = std::make_shared<Node>();
        p->value = x[i];
        net.push_back(p);
    }
    for (int i = 1; i < n; i++)
        for (int j = 0; j < i; j += 2) net[i]->before.push_back({net[j], x[i] * 0.7});
    for (int k = 0; k < 3; k++)
        for (auto &p : net)
            for (auto &[w, c] : p->before)
                if (auto q = w.lock()) p->value = std::tanh(p->value + c * q->value);
    double s = 0;
    for (auto &p : net) s += p->value;
    return s;
}
