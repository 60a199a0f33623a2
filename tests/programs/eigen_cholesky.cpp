// Eigen's Cholesky factors, with and without square roots, and triangular solves; sizes are computed.
#include "selfcheck.h"
#include <Eigen/Dense>
using namespace Eigen;
static double f(const double *x, int size)
{
    int n = size / 3;
    Map<const MatrixXd> m(x, n, n);
    MatrixXd a = m.transpose() * m + MatrixXd::Identity(n, n);
    VectorXd b = m.col(0) + m.col(1), y = a.llt().solve(b), z = a.ldlt().solve(b);
    return y.squaredNorm() + z.sum() + a.triangularView<Lower>().solve(b).norm();
}
int main() { CHECK_GRADIENT(f, 9); return failures(); }
