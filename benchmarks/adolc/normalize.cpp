// `programs/normalize.c` in ADOL-C's numbers, the norm computed once: the quadratic trace would not fit into memory.
#include "program.hpp"

static std::vector<double> x, d_x;

void setup(int size)
{
    x.resize(size), d_x.resize(size);
    for (int i = 0; i < size; i++) x[i] = noise(i) - 0.25;
}

template <class T> static T objective(const std::vector<T> &v)
{
    T square = 0, sum = 0;
    for (const T &e : v) square += e * e;
    T norm = sqrt(square);
    for (size_t i = 0; i < v.size(); i++) sum += v[i] / norm * (1.0 + i % 5);
    return sum;
}

double primal() { return objective(x); }

extern "C" PUBLIC void adjoint(void)
{
    double out;
    trace_on(1);
    std::vector<adouble> q(x.size());
    for (size_t i = 0; i < x.size(); i++) q[i] <<= x[i];
    objective(q) >>= out;
    trace_off();
    gradient(1, (int)x.size(), x.data(), d_x.data());
}

double *derivative(int *count) { return *count = (int)x.size(), d_x.data(); }
