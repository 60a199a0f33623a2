// What a callee that throws leaves on the tape is dropped by callers that keep nothing there themselves.
#include <cmath>
struct why { int n; };
static __attribute__((noinline)) double checked(double x, int n) {
    double w[3] = {x, x * x, 0};
    for (int i = 0; i < n; i++) w[(i + 1) % 3] = std::sin(w[i % 3] * w[(i + 2) % 3] + x);
    if (n > 4) throw why{n};
    return w[0] * w[1] * w[2];
}
static __attribute__((noinline)) double caught(double x, int n) {
    try {
        return checked(x, n);
    } catch (const why &) {
        return 3 * x;
    }
}
extern "C" double cpp_caught_without_frame(const double *x, int n) {
    try {
        try {
            return checked(x[1], n) * caught(x[0], n);
        } catch (int) {
            return x[1];
        } catch (...) {
            return checked(x[1], n);
        }
    } catch (const why &) {
        return caught(x[0], n) * x[2];
    }
}
