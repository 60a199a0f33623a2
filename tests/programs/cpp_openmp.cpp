// OpenMP in C++: objects, exceptions within a region, containers, iterators, members.
#include "selfcheck.h"
#include <omp.h>
#include <stdexcept>
#include <vector>

struct Field {
    std::vector<double> values;
    double scale;
    explicit Field(int n, double s) : values(n, 1.0), scale(s) {}
    void step(const double *x)
    {
        std::vector<double> next(values.size());
#pragma omp parallel for
        for (std::size_t i = 0; i < values.size(); i++)
            next[i] = scale * values[i] * x[i] + values[(i + 1) % values.size()];
        values.swap(next);
    }
    double total() const
    {
        double s = 0;
#pragma omp parallel for reduction(+ : s) schedule(guided)
        for (auto it = values.begin(); it < values.end(); ++it)
            s += *it * *it;
        return s;
    }
};

static double stepped(const double *x, int n)
{
    Field f(n, x[0]);
    for (int k = 0; k < 3; k++)
        f.step(x);
    return f.total();
}

static double by_lambda(const double *x, int n)
{
    double s = 0, first = x[0];
    auto add = [&](int i) { return first * x[i] * x[i]; };
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += add(i);
    return s;
}

static double checked(double v)
{
    if (v > 1e6) throw std::runtime_error("too large");
    return v * v;
}

static double caught(const double *x, int n)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) {
        try {
            s += checked(x[i]);
        } catch (const std::exception &) {
            s += 1;
        }
    }
    return s;
}

struct Sum {
    double v = 0;
    void add(double w) { v += w; }
};
#pragma omp declare reduction(merge : Sum : omp_out.add(omp_in.v))

static double merged(const double *x, int n)
{
    Sum sum;
#pragma omp parallel for reduction(merge : sum)
    for (int i = 0; i < n; i++)
        sum.add(x[i] * x[i] * x[i]);
    return sum.v;
}

static double with_vectors(const double *x, int n)
{
    double s = 0;
#pragma omp parallel
    {
        std::vector<double> own(n);
#pragma omp for
        for (int i = 0; i < n; i++)
            own[i] = x[i] * x[i];
        double part = 0;
        for (double v : own)
            part += v;
#pragma omp critical
        s += part;
    }
    return s * s;
}

int main()
{
    CHECK_GRADIENT(stepped, 5);
    CHECK_GRADIENT(by_lambda, 5);
    CHECK_GRADIENT(caught, 4);
    CHECK_GRADIENT(merged, 5);
    CHECK_GRADIENT(with_vectors, 5);
    return failures();
}
