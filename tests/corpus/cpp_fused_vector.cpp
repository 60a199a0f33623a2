// A scratch vector that each iteration fills, and whose bounds are checked: an exception would end the function.
// x: 18
// index: 3 values 2 0 5
// n: 3
// m: 6
#include <cmath>
#include <vector>
extern "C" double cpp_fused_vector(const double *x, const int *index, int n, int m) {
    std::vector<double> a(m);
    double total = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) a[j] = std::exp(x[m * i + j]);
        double s = 0;
        for (int j = 0; j < m; j++) s += a.at(index[i]) * a[j] * std::sqrt(1 + s * s) * 0.1;
        total += s;
    }
    return 3 * total;
}
