// Handlers that go on after functions wrote active memory and threw: what ran in part is reversed in part.
#include "selfcheck.h"
#include <memory>
#include <stdexcept>
#include <vector>
struct large { int why; };
struct failed : std::runtime_error {
    int at;
    failed(int at) : std::runtime_error("failed"), at(at) {}
};
struct Restored {  // its destructor runs on both ways out
    double *place, value;
    ~Restored() { *place += value * value; }
};
static __attribute__((noinline)) void write(double *y, double x, int i)
{
    y[i] = x * x;
    if (i == 2)
        throw 1;
    if (i == 3)
        throw large{i};
    if (i == 4)
        throw failed(i);
    y[i] *= x;
}
static __attribute__((noinline)) void middle(double *y, const double *x, int i)
{
    Restored restored{y, x[i]};
    std::vector<double> copy(x, x + 3);
    copy[1] *= x[i];
    try {
        write(y, x[i] * copy[1], i);
        y[i] += x[0];
    } catch (const large &l) {
        y[l.why] += 2 * x[l.why] * copy[0];
    } catch (const std::logic_error &) {
        y[i] = 0;
    }
    y[i] *= copy[2];
}
static double caught_twice(const double *x, int n)
{
    double y[8] = {0}, sum = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n; i++) {
            try {
                middle(y, x, i);
            } catch (int) {
                sum += x[i] * y[i];
            } catch (const std::exception &) {
                sum += y[i] * y[i];
            }
        }
    for (int i = 0; i < n; i++)
        sum += y[i];
    return sum;
}
// Recursion that is unwound, passed on and replaced.
static __attribute__((noinline)) double down(double *y, const double *x, int n, int k)
{
    y[k % n] += std::sin(x[k % n] * y[(k + 1) % n]);
    if (k >= 9)
        throw large{k};
    try {
        return y[k % n] * down(y, x, n, k + 1);
    } catch (large &l) {
        y[l.why % n] *= x[k % n];
        if (k % 3)
            throw;
        if (k % 2)
            throw failed(k);
        return y[0] * y[0];
    } catch (...) {
        y[1] += y[0] * x[k % n];
        throw;
    }
}
static double unwound(const double *x, int n)
{
    std::vector<double> y(x, x + n);
    double sum = 0;
    for (int k = 0; k < 10; k++)
        try {
            std::unique_ptr<double> scratch(new double(x[k % n]));
            sum += down(y.data(), x, n, k) * *scratch;
        } catch (const std::runtime_error &) {
            sum += y[k % n] * 0.5;
        } catch (...) {
            sum -= y[(k + 2) % n] * x[k % n];
        }
    return sum;
}
// What libstdc++ throws; and what is passed on by all handlers leaves the derivative.
struct Series {
    std::vector<double> terms;
    double operator()(const double *x, int n, int reach)
    {
        for (int i = 0; i < reach; i++)
            terms.at(i) *= x[i % n];
        return terms[0];
    }
};
static double outside(const double *x, int n)
{
    Series series{{x, x + n}};
    double sum = 0;
    for (int reach = 1; reach < n + 3; reach++)
        try {
            sum += series(x, n, reach);
        } catch (const std::out_of_range &) {
            sum += series.terms[reach % n];
        }
    return sum;
}
static double leaves(const double *x, int n)
{
    double y[8] = {0};
    try {
        write(y, x[n - 1], n - 1);
    } catch (const large &l) {
        y[l.why] *= x[0];
    }
    return y[n - 1] * y[n - 1];
}
// Functions that are called through pointers under a handler, and throw nothing.
static void add(double *y, double v) { *y += v * v; }
static void multiply(double *y, double v) { *y *= v; }
static double through_pointers(const double *x, int n)
{
    void (*volatile all[2])(double *, double) = {add, multiply};
    double y = x[0], sum = 0;
    for (int i = 0; i < n; i++)
        try {
            all[i % 2](&y, x[i]);
            if (i == 2)
                throw 1;
            sum += y;
        } catch (int) {
            sum += y * x[i];
        }
    return sum * y;
}
int main()
{
    CHECK_GRADIENT(through_pointers, 5);
    CHECK_GRADIENT(caught_twice, 6);
    CHECK_GRADIENT(unwound, 4);
    CHECK_GRADIENT(outside, 5);
    CHECK_GRADIENT(leaves, 4);
    double x[6], dx[6] = {0};
    sample(x, 6);
    int caught = 0;
    for (int n = 1; n < 6; n++)
        try {
            __enzyme_autodiff((void *)leaves, enzyme_dup, x, dx, enzyme_const, n);
        } catch (int) {
            caught += 1;
        } catch (const failed &f) {
            caught += 10 * f.at;
        }
    expect("caught", 0, caught, 41);
    return failures();
}
