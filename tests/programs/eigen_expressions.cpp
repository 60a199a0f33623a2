// Blocks, references, matrices returned by value, broadcasts and functions of one's own.
#include "selfcheck.h"
#include <Eigen/Dense>
using namespace Eigen;

__attribute__((noinline)) static MatrixXd gram(const double *x, int n)
{
    Map<const MatrixXd> m(x, n, n);
    MatrixXd r = 0.05 * m * m.transpose();
    r.diagonal().array() += 1;
    return r;
}

__attribute__((noinline)) static VectorXd times(const MatrixXd &m, const Ref<const VectorXd> &v) { return m * v; }

__attribute__((noinline)) static void scale(Ref<MatrixXd> m, double by) { m.bottomRows(1) *= by; }

static double f(const double *x, int size)
{
    int n = size / 3;
    MatrixXd a = gram(x, n), c = a.block(0, 1, 2, 2);
    VectorXd v = times(a, a.col(1));
    c.row(0) += v.head(2).transpose();
    c.col(1).array() *= v.segment(1, 2).array();
    scale(a.rightCols(2), v(0));
    a.rowwise() += v.transpose();
    a.colwise() -= v;
    VectorXd s = a.rowwise().sum(), t = a.colwise().norm();
    double sum = a.unaryExpr([](double e) { return std::sin(e) * e; }).sum();
    return s.dot(t) + c.squaredNorm() + sum + (c.array() > 1).select(c, 2 * c).sum();
}
int main() { CHECK_GRADIENT(f, 9); return failures(); }
