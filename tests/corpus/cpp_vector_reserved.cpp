// std::vector of a known size.
#include <vector>
extern "C" double cpp_vector_reserved(double *x, int n) {
    std::vector<double> v(n);
    for (int i = 0; i < n; i++) v[i] = x[i] * x[0];
    for (int i = 1; i < n; i++) v[i] += v[i - 1] * v[i];
    return v[n - 1];
}
