// Vectors in a vector that grows: what moves them may throw, and cleans up on the way out.
#include "selfcheck.h"
#include <vector>
static double f(const double *x, int n)
{
    std::vector<std::vector<double>> rows;
    for (int i = 0; i < n; i++)
        rows.emplace_back(i + 1, x[i]);
    double sum = 0;
    for (auto &row : rows)
        for (double v : row)
            sum += v * v;
    return sum;
}
int main() { CHECK_GRADIENT(f, 6); return failures(); }
