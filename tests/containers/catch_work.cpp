// A function with memory of its own, which throws now and then.
#include <vector>
static __attribute__((noinline)) double work(const double *x, int n, int i) {
    std::vector<double> all;
    for (int k = 0; k < n; k++) {
        all.push_back(x[k] * x[i]);
        if (k == 4 && i % 2) throw 1;
    }
    double s = 0;
    for (double v : all) s += v * v;
    return s;
}
extern "C" double catch_work(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        try {
            s += work(x, n, i);
        } catch (int) {
            s *= x[i];
        }
    }
    return s;
}
