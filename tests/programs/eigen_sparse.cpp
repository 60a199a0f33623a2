// Eigen's sparse matrices: made of triplets, multiplied, and solved with iteratively.
#include "selfcheck.h"
#include <Eigen/Sparse>
using namespace Eigen;
static double f(const double *x, int n)
{
    SparseMatrix<double> a(n, n);
    std::vector<Triplet<double>> t;
    for (int i = 0; i < n; i++) {
        t.emplace_back(i, i, 4 + x[i]);
        if (i) {
            t.emplace_back(i, i - 1, -x[i]);
            t.emplace_back(i - 1, i, -x[i]);
        }
    }
    a.setFromTriplets(t.begin(), t.end());
    VectorXd b = Map<const VectorXd>(x, n), c = a * b;
    ConjugateGradient<SparseMatrix<double>> solver(a);
    solver.setTolerance(1e-14);
    return c.squaredNorm() + VectorXd(solver.solve(b)).squaredNorm();
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
