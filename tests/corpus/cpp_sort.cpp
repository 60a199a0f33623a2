// std::sort.
#include <algorithm>
extern "C" double cpp_sort(double *x, int n) {
    std::sort(x, x + n);
    return x[0] * x[1] + 3 * x[n - 1];
}
