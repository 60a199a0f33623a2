// Eigen with fixed sizes.
#include "selfcheck.h"
#include <Eigen/Dense>
static double f(const double *x, int n)
{
    Eigen::Matrix2d m;
    m << x[0], x[1], x[2], x[n - 1];
    Eigen::Vector2d v(x[0], x[1]);
    return v.dot(m * v) + m.determinant() + (m * m).trace();
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
