// Eigen's matrices as members of objects that are passed with shadows of their own: a network of two layers.
#include "selfcheck.h"
#include <Eigen/Dense>
using namespace Eigen;
struct Network {
    MatrixXd inner{3, 2}, outer{1, 3};
    VectorXd bias{3};
};
static double loss(const Network *net, const VectorXd *x)
{
    VectorXd hidden = (net->inner * *x + net->bias).unaryExpr([](double v) { return std::tanh(v); });
    return (net->outer * hidden).squaredNorm();
}
static void check(Network &net, VectorXd &x, double *p, const double *d, int n)
{
    for (int i = 0; i < n; i++) {
        double v[4], kept = p[i];
        for (int k = 0; k < 4; k++) {
            p[i] = kept + stencil_steps[k] * 1e-3;
            v[k] = loss(&net, &x);
        }
        p[i] = kept;
        expect("member", i, d[i], stencil(v, 1e-3));
    }
}
int main()
{
    Network net, d;
    VectorXd x(2), dx = VectorXd::Zero(2);
    sample(net.inner.data(), 6), sample(net.outer.data(), 3), sample(net.bias.data(), 3), sample(x.data(), 2);
    d.inner.setZero(), d.outer.setZero(), d.bias.setZero();
    __enzyme_autodiff_void((void *)loss, enzyme_dup, &net, &d, enzyme_dup, &x, &dx);
    check(net, x, net.inner.data(), d.inner.data(), 6);
    check(net, x, net.outer.data(), d.outer.data(), 3);
    check(net, x, net.bias.data(), d.bias.data(), 3);
    check(net, x, x.data(), dx.data(), 2);
    return failures();
}
