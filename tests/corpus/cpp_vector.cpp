// std::vector: growth, iterators, range loops.
#include <vector>
extern "C" double cpp_vector(double *x, int n) {
    std::vector<double> v(x, x + n), w;
    for (double a : v) w.push_back(a * a);
    double s = 0;
    for (std::size_t i = 0; i < w.size(); i++) s += w[i] * v[v.size() - 1 - i];
    return s;
}
