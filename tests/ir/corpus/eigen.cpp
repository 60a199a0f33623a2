// Eigen, fixed and dynamic sizes: expression templates, maps, an inverse.
#include <Eigen/Dense>

using Eigen::MatrixXd;
using Eigen::VectorXd;

extern "C" double quadratic_form(const double *a, const double *x, int n)
{
    Eigen::Map<const MatrixXd> matrix(a, n, n);
    Eigen::Map<const VectorXd> vector(x, n);
    return 0.5 * vector.dot(matrix * vector) - vector.array().exp().sum();
}

extern "C" void rotate(const double *angles, const double *in, double *out)
{
    Eigen::Matrix3d r;
    r = Eigen::AngleAxisd(angles[0], Eigen::Vector3d::UnitX()) * Eigen::AngleAxisd(angles[1], Eigen::Vector3d::UnitY())
        * Eigen::AngleAxisd(angles[2], Eigen::Vector3d::UnitZ());
    Eigen::Map<Eigen::Vector3d>(out, 3) = r * Eigen::Map<const Eigen::Vector3d>(in, 3);
}

extern "C" float kalman(float *state, const float *measured)
{
    Eigen::Map<Eigen::Matrix<float, 4, 1>> x(state);
    Eigen::Matrix4f f = Eigen::Matrix4f::Identity();
    f(0, 2) = f(1, 3) = 0.1f;
    Eigen::Matrix<float, 2, 4> h = Eigen::Matrix<float, 2, 4>::Zero();
    h(0, 0) = h(1, 1) = 1.0f;
    Eigen::Matrix4f p = f * Eigen::Matrix4f::Identity() * f.transpose();
    Eigen::Matrix2f s = h * p * h.transpose() + Eigen::Matrix2f::Identity();
    Eigen::Matrix<float, 4, 2> k = p * h.transpose() * s.inverse();
    x = f * x;
    x += k * (Eigen::Map<const Eigen::Vector2f>(measured) - h * x);
    return x.norm();
}
