// Eigen's tensors, passed with shadows of their own: a contraction, a bias for each column, an activation.
#include "selfcheck.h"
#include <unsupported/Eigen/CXX11/Tensor>
using Eigen::Tensor;
static double loss(const Tensor<double, 2> *weights, const Tensor<double, 2> *bias, const Tensor<double, 2> *x)
{
    Eigen::array<Eigen::IndexPair<int>, 1> over = {Eigen::IndexPair<int>(1, 0)};
    Eigen::array<int, 2> columns = {1, (int)x->dimension(1)};
    Tensor<double, 2> y = (weights->contract(*x, over) + bias->broadcast(columns)).sigmoid();
    Tensor<double, 0> sum = y.square().sum();
    return sum();
}
static void check(double *p, const double *d, int n, const Tensor<double, 2> &w, const Tensor<double, 2> &b, const Tensor<double, 2> &x)
{
    for (int i = 0; i < n; i++) {
        double v[4], kept = p[i];
        for (int k = 0; k < 4; k++) {
            p[i] = kept + stencil_steps[k] * 1e-3;
            v[k] = loss(&w, &b, &x);
        }
        p[i] = kept;
        expect("tensor", i, d[i], stencil(v, 1e-3));
    }
}
int main()
{
    Tensor<double, 2> w(2, 3), b(2, 1), x(3, 2), dw(2, 3), db(2, 1);
    sample(w.data(), 6), sample(b.data(), 2), sample(x.data(), 6);
    dw.setZero(), db.setZero();
    __enzyme_autodiff_void((void *)loss, enzyme_dup, &w, &dw, enzyme_dup, &b, &db, enzyme_const, &x);
    check(w.data(), dw.data(), 6, w, b, x);
    check(b.data(), db.data(), 2, w, b, x);
    return failures();
}
