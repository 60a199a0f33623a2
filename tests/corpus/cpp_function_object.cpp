// std::function, called through a type-erased pointer.
#include <functional>
extern "C" double cpp_function_object(double *x, int n) {
    double a = x[0];
    std::function<double(double)> f = [a](double t) { return a * t * t; };
    double s = 0;
    for (int i = 0; i < n; i++) s += f(x[i]);
    return s;
}
