// Containers of nodes: a list, a hash table.
#include <list>
#include <unordered_map>
extern "C" double lists_and_hashes(double *x, int n) {
    std::list<double> l;
    std::unordered_map<int, double> h;
    for (int i = 0; i < n; i++) {
        l.push_front(x[i] * x[0]);
        h[i * 7] = x[i] * x[i];
    }
    double s = 0;
    for (double v : l) s = s * 0.5 + v;
    for (int i = 0; i < n; i++) s += h[i * 7] * i;
    return s;
}
