// Inverse, determinant and solution by Eigen's LU with partial pivoting; sizes are computed.
#include "selfcheck.h"
#include <Eigen/Dense>
using namespace Eigen;
static double f(const double *x, int size)
{
    int n = size / 3;
    Map<const MatrixXd> m(x, n, n);
    MatrixXd a = m.transpose() * m + MatrixXd::Identity(n, n);
    VectorXd b = m.col(0) + m.col(1), y = a.partialPivLu().solve(b);
    return a.inverse().sum() + std::log(a.determinant()) + y.squaredNorm();
}
int main() { CHECK_GRADIENT(f, 9); return failures(); }
