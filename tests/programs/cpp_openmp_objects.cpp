// Parallel regions over objects: templates, virtual functions, shared pointers, reductions of vectors, tasks of lambdas.
#include "selfcheck.h"
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

template <class T> struct Grid {
    int n;
    std::vector<T> values;
    explicit Grid(int n) : n(n), values(n * n) {}
    T &operator()(int i, int j) { return values[i * n + j]; }
};

static double product(const double *x, int n)
{
    Grid<double> g(n), h(n);
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            g(i, j) = x[i] * x[j];
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double a = 0;
            for (int k = 0; k < n; k++)
                a += g(i, k) * g(k, j);
            h(i, j) = a;
        }
    return std::accumulate(h.values.begin(), h.values.end(), 0.0);
}

#pragma omp declare reduction(added : std::vector<double> : std::transform( \
    omp_out.begin(), omp_out.end(), omp_in.begin(), omp_out.begin(), std::plus<double>())) \
    initializer(omp_priv = decltype(omp_orig)(omp_orig.size()))

static double of_vectors(const double *x, int n)
{
    std::vector<double> v(3);
#pragma omp parallel for reduction(added : v)
    for (int i = 0; i < n; i++)
        v[i % 3] += x[i] * x[i] * x[(i + 1) % n];
    return v[0] * v[1] + v[2];
}

struct Model {
    std::shared_ptr<std::vector<double>> weights;
    double bias = 0;
    virtual double activate(double v) const { return std::tanh(v); }
    virtual ~Model() = default;
    double run(const double *x, int n) const
    {
        double s = 0;
#pragma omp parallel for reduction(+ : s)
        for (int i = 0; i < n; i++) {
            auto kept = weights;
            s += activate((*kept)[i] * x[i] + bias);
        }
        return s;
    }
};

struct Squared : Model {
    double activate(double v) const override { return v > 0 ? v * v : 0; }
};

static double by_model(const double *x, int n)
{
    std::unique_ptr<Model> model;
    if (n > 3)
        model = std::make_unique<Squared>();
    else
        model = std::make_unique<Model>();
    model->weights = std::make_shared<std::vector<double>>(x, x + n);
    model->bias = x[0];
    return model->run(x, n);
}

static double by_tasks(const double *x, int n)
{
    std::vector<double> p(n);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < n; i++) {
            auto f = [&p, x, i] { p[i] = x[i] * std::sin(x[i]); };
#pragma omp task firstprivate(f)
            f();
        }
#pragma omp taskwait
    }
    return std::inner_product(p.begin(), p.end(), p.begin(), 0.0);
}

/* What a task has a copy of is destroyed when it has run. */
static double owned(const double *x, int n)
{
    std::vector<double> v(x, x + n), r(n);
    auto counted = std::make_shared<double>(x[0] * x[0]);
    int owners = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(v, counted) shared(r) if (i != 1)
            {
                v[i] *= x[0];
                r[i] = v[i] * v[(i + 1) % n] * *counted;
            }
        }
#pragma omp taskwait
        owners = (int)counted.use_count();
    }
    return std::accumulate(r.begin(), r.end(), 0.0) * owners;
}

static double guarded(const double *x, int n)
{
    double total = 0;
    std::map<int, double> sums;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double v = x[i] * x[i];
#pragma omp critical
        sums[i % 2] += v;
    }
    for (auto &[key, v] : sums)
        total += v * v;
    return total;
}

int main()
{
    CHECK_GRADIENT(product, 4);
    CHECK_GRADIENT(of_vectors, 6);
    CHECK_GRADIENT(by_model, 4);
    CHECK_GRADIENT(by_tasks, 4);
    CHECK_GRADIENT(owned, 4);
    CHECK_GRADIENT(guarded, 5);
    return failures();
}
