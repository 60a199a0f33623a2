// What is caught is thrown again and translated by a function of its own.
#include "selfcheck.h"
#include <stdexcept>
static void translated(int what)
{
    try {
        throw;
    } catch (const std::domain_error &) {
        if (what) throw std::runtime_error("translated");
    }
}
__attribute__((noinline)) static void step(double *state, double x)
{
    *state *= x;
    if (x > 1.0)
        throw std::domain_error("large");
    *state += x * 3;
}
static double f(const double *x, int n)
{
    double state = 1, sum = 0;
    for (int i = 0; i < n; i++)
        try {
            try {
                step(&state, x[i]);
            } catch (...) {
                translated(i % 2);
                sum += x[i] * state;
            }
        } catch (const std::runtime_error &) {
            sum += 2 * x[i] * state;
        }
    return sum + state;
}
int main() { CHECK_GRADIENT(f, 6); return failures(); }
