// Coefficient-wise functions of Eigen's arrays.
#include "selfcheck.h"
#include <Eigen/Dense>
static double f(const double *x, int n)
{
    Eigen::Map<const Eigen::ArrayXd> v(x, n);
    return (v.exp() * v.sin()).sum() + (v * v).maxCoeff() + v.log().sum();
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
