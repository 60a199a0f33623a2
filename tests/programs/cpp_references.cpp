// References in, references out.
#include "selfcheck.h"
static double &larger(double &a, double &b) { return a > b ? a : b; }
static void exchange(double &a, double &b) { double c = a; a = b; b = c; }
static double f(const double *x, int n)
{
    double a = x[0] * 2, b = x[1], c = x[n - 1];
    larger(a, b) *= c;
    exchange(b, c);
    larger(b, c) += a * b;
    return a + 2 * b + 3 * c * c;
}
int main() { CHECK_GRADIENT(f, 3); return failures(); }
