// A map from integers, searched and erased from.
#include <map>
extern "C" double maps(double *x, int n) {
    std::map<int, double> m;
    for (int i = 0; i < n; i++) m[(i * 5) % n] = x[i] * x[0];
    m.erase(1);
    double s = 0;
    for (auto &p : m) s += p.second * p.first;
    auto it = m.find(2);
    return it == m.end() ? s : s * it->second;
}
