// Eigen's decompositions and sparse matrices: large modules, read in the full set.
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <cmath>
#include <vector>

using Eigen::MatrixXd;
using Eigen::VectorXd;

extern "C" double solve(const double *a, const double *b, int n)
{
    Eigen::Map<const MatrixXd> matrix(a, n, n);
    Eigen::Map<const VectorXd> right(b, n);
    VectorXd x = (matrix.transpose() * matrix + MatrixXd::Identity(n, n)).ldlt().solve(right);
    return x.squaredNorm() + matrix.partialPivLu().determinant();
}

extern "C" double sparse_energy(const double *x, int n)
{
    std::vector<Eigen::Triplet<double>> entries;
    for (int i = 0; i < n; i++) {
        entries.emplace_back(i, i, 2.0);
        if (i + 1 < n) entries.emplace_back(i, i + 1, -1.0);
    }
    Eigen::SparseMatrix<double> l(n, n);
    l.setFromTriplets(entries.begin(), entries.end());
    Eigen::Map<const VectorXd> v(x, n);
    return v.dot(l * v);
}

extern "C" double singular_values(const double *a)
{
    Eigen::JacobiSVD<MatrixXd> svd(Eigen::Map<const MatrixXd>(a, 4, 3), Eigen::ComputeThinU | Eigen::ComputeThinV);
    return svd.singularValues().sum() + std::sqrt(svd.matrixU().cwiseAbs2().sum());
}
