// Pointers to members: data and functions.
#include "selfcheck.h"
struct model {
    double a, b;
    double linear(double x) const { return a * x + b; }
    double square(double x) const { return a * x * x - b; }
};
static double f(const double *x, int n)
{
    model m{x[0], x[1]};
    double model::*member = n > 3 ? &model::a : &model::b;
    double sum = m.*member;
    for (int i = 0; i < n; i++) {
        double (model::*g)(double) const = i % 2 ? &model::linear : &model::square;
        sum += (m.*g)(x[i]);
    }
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
