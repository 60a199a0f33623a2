// A network's loss, an integrator, and a Cholesky solve, as C++ has them: vectors, algorithms, operators, classes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

using Vector = std::vector<double>;

struct Activation {
    virtual ~Activation() = default;
    virtual double operator()(double s) const = 0;
};

struct Tanh final : Activation {
    double operator()(double s) const override { return std::tanh(s); }
};

class Network {
public:
    Network(std::size_t inputs, std::size_t hidden, const double *w1, const double *b1, const double *w2)
        : inputs(inputs), w1(w1, w1 + inputs * hidden), b1(b1, b1 + hidden), w2(w2, w2 + hidden),
          activation(std::make_unique<Tanh>()) {}

    double operator()(const double *x) const {
        double y = 0.0;
        for (std::size_t i = 0; i < b1.size(); ++i)
            y += w2[i] * (*activation)(std::inner_product(x, x + inputs, w1.begin() + i * inputs, b1[i]));
        return y;
    }

private:
    std::size_t inputs;
    Vector w1, b1, w2;
    std::unique_ptr<Activation> activation;
};

double network(int n, int m, const double *x, const double *w1, const double *b1, const double *w2, double target) {
    const double error = Network(n, m, w1, b1, w2)(x) - target;
    return error * error;
}

template <class System>
Vector heun(Vector y, double dt, int steps, System system) {
    for (int step = 0; step < steps; ++step) {
        const Vector a = system(y);
        Vector mid(y.size());
        std::transform(y.begin(), y.end(), a.begin(), mid.begin(), [dt](double v, double s) { return v + dt * s; });
        const Vector b = system(mid);
        for (std::size_t i = 0; i < y.size(); ++i)
            y[i] += 0.5 * dt * (a[i] + b[i]);
    }
    return y;
}

double integrate(int n, const double *start, double k, double dt, int steps) {
    const auto ring = [k](const Vector &y) {
        const std::size_t n = y.size();
        Vector out(n);
        for (std::size_t i = 0; i < n; ++i)
            out[i] = y[(i + n - 1) % n] - 2.0 * y[i] + y[(i + 1) % n] - k * std::pow(y[i], 3);
        return out;
    };
    const Vector y = heun(Vector(start, start + n), dt, steps, ring);
    return std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
}

class Cholesky {
public:
    Cholesky(std::size_t n, const double *a) : n(n), l(n * n) {
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t i = j; i < n; ++i) {
                double s = a[i * n + j];
                for (std::size_t k = 0; k < j; ++k)
                    s -= l[i * n + k] * l[j * n + k];
                if (i == j && !(s > 0.0))
                    throw std::domain_error("the matrix is not positive definite");
                l[i * n + j] = i == j ? std::sqrt(s) : s / l[j * n + j];
            }
    }

    double log_determinant() const {
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i)
            sum += 2.0 * std::log(l[i * n + i]);
        return sum;
    }

    Vector forward(Vector b) const {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t k = 0; k < i; ++k)
                b[i] -= l[i * n + k] * b[k];
            b[i] /= l[i * n + i];
        }
        return b;
    }

private:
    std::size_t n;
    Vector l;
};

double solve(int n, const double *a, const double *b) {
    const Cholesky factor(n, a);
    const Vector z = factor.forward(Vector(b, b + n));
    return std::inner_product(z.begin(), z.end(), z.begin(), factor.log_determinant());
}
