/* Enzyme's gradient of the GMM objective: adds to d_alphas, d_means and d_icf. */
#include "../../examples/adbench/gmm.c"

extern int enzyme_const, enzyme_dup;
void __enzyme_autodiff(void *, ...);

void gmm_gradient(int d, int k, int n, const double *alphas, double *d_alphas, const double *means,
                  double *d_means, const double *icf, double *d_icf, const double *x, double gamma, int m,
                  double *err)
{
    double seed = 1.0;
    __enzyme_autodiff((void *)gmm_objective, enzyme_const, d, enzyme_const, k, enzyme_const, n,
                      enzyme_dup, alphas, d_alphas, enzyme_dup, means, d_means, enzyme_dup, icf, d_icf,
                      enzyme_const, x, enzyme_const, gamma, enzyme_const, m, enzyme_dup, err, &seed);
}
