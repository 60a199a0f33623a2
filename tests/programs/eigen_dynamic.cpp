// Eigen with sizes that the program computes.
#include "selfcheck.h"
#include <Eigen/Dense>
static double f(const double *x, int n)
{
    Eigen::Map<const Eigen::VectorXd> v(x, n);
    Eigen::MatrixXd a = v * v.transpose();
    a.diagonal().array() += 2;
    return (a * v).squaredNorm() + a.sum();
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
