// Shared pointers, optional values, a deque, move semantics.
#include <deque>
#include <memory>
#include <optional>
#include <vector>
struct Node { double v; std::shared_ptr<Node> next; };
static std::optional<double> root(double x) { return x > 0 ? std::optional<double>(x * x) : std::nullopt; }
static __attribute__((noinline)) std::vector<double> twice(std::vector<double> v) {
    for (double &e : v) e *= 2;
    return v;
}
extern "C" double shared_pointers(double *x, int n) {
    std::shared_ptr<Node> head;
    for (int i = 0; i < n; i++) head = std::make_shared<Node>(Node{x[i], head});
    double s = 0;
    for (auto p = head; p; p = p->next) s += p->v * (p->next ? p->next->v : 1);
    std::deque<double> d;
    for (int i = 0; i < n; i++) (i % 2 ? d.push_back(x[i]) : d.push_front(x[i] * x[1]));
    for (double e : d) s = s * 0.7 + e;
    std::vector<double> w = twice(std::vector<double>(x, x + n));
    for (double e : w) s += e * e;
    if (auto r = root(s)) s += *r;
    return s;
}
