// A throw on a way that is not taken.
#include <stdexcept>
extern "C" double cpp_exception(double *x, int n) {
    if (n < 2) throw std::invalid_argument("too short");
    return x[0] * x[1];
}
