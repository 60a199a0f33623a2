// A matrix as a vector of vectors, multiplied by itself.
#include "selfcheck.h"
#include <vector>
using matrix = std::vector<std::vector<double>>;
static double f(const double *x, int n)
{
    matrix a(n, std::vector<double>(n)), b = a;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = x[i] * (j + 1) + x[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                b[i][j] += a[i][k] * a[k][j];
    double trace = 0;
    for (int i = 0; i < n; i++)
        trace += b[i][i];
    return trace;
}
int main() { CHECK_GRADIENT(f, 3); return failures(); }
