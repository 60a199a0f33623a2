// Least squares by Eigen's Householder reflections; sizes are computed.
#include "selfcheck.h"
#include <Eigen/Dense>
using namespace Eigen;
static double f(const double *x, int size)
{
    Map<const MatrixXd> m(x, size / 2 - 1, 2);
    VectorXd b = Map<const VectorXd>(x + 2, size / 2 - 1).array().square();
    return m.householderQr().solve(b).squaredNorm();
}
int main() { CHECK_GRADIENT(f, 8); return failures(); }
