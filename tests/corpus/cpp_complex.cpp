// std::complex.
#include <complex>
extern "C" double cpp_complex(double *x, int n) {
    std::complex<double> z(x[0], x[1]), w(x[2], x[3]);
    for (int i = 0; i < 4; i++) z = z * w + std::conj(z) / w;
    return std::abs(z) * std::real(w);
}
