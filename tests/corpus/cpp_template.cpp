// Templates and function objects.
#include <cmath>
template <class F> static double integrate(F f, double a, double b, int n) {
    double s = 0, h = (b - a) / n;
    for (int i = 0; i < n; i++) s += f(a + (i + 0.5) * h) * h;
    return s;
}
extern "C" double cpp_template(double *x, int n) {
    double p = x[1];
    return integrate([p](double t) { return std::sin(p * t) * t; }, 0, x[0], 16) * integrate([=](double t) { return t * x[2]; }, x[3], 2, 4);
}
