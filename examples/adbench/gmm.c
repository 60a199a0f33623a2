/* ADBench GMM: log posterior of a Gaussian mixture model with a Wishart prior.
 *
 * For every component k, `icf` row k holds the logarithms of the diagonal of a lower triangular matrix Q_k
 * (d entries), then its strictly lower part column by column (d(d-1)/2 entries):
 *
 *   s_k  = sum_i icf[k,i],  i < d
 *   t_nk = alphas_k + s_k - 1/2 |Q_k (x_n - means_k)|^2
 *   err  = -n d/2 log 2 pi + sum_n logsumexp_k t_nk - n logsumexp(alphas) + prior
 */
#include <math.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;

static double log_sum_exp(int n, const double *restrict x)
{
    double top = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > top)
            top = x[i];
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += exp(x[i] - top);
    return top + log(sum);
}

/* log of the multivariate gamma function of dimension d. */
static double log_gamma_d(double a, int d)
{
    double sum = 0.25 * d * (d - 1) * log(PI);
    for (int j = 1; j <= d; j++)
        sum += lgamma(a + 0.5 * (1 - j));
    return sum;
}

/* |Q y|^2; `q` (d entries) is scratch. */
static double mahalanobis(int d, const double *restrict diagonal, const double *restrict lower,
                          const double *restrict y, double *restrict q)
{
    for (int i = 0; i < d; i++)
        q[i] = diagonal[i] * y[i];
    for (int j = 0; j < d; j++) {
        for (int i = j + 1; i < d; i++)
            q[i] += lower[i - j - 1] * y[j];
        lower += d - 1 - j;
    }
    double sum = 0.0;
    for (int i = 0; i < d; i++)
        sum += q[i] * q[i];
    return sum;
}

/* The Wishart prior; `diagonal` holds exp of each icf row's first d entries, `sums` their sum before exp. */
static double wishart_prior(int d, int k, const double *restrict icf, const double *restrict diagonal,
                            const double *restrict sums, double gamma, int m)
{
    const int lower = d * (d - 1) / 2;
    const int n = d + m + 1;
    const double constant = n * d * (log(gamma) - 0.5 * log(2.0)) - log_gamma_d(0.5 * n, d);
    double prior = 0.0;
    for (int c = 0; c < k; c++) {
        const double *row = icf + c * (d + lower) + d;
        double squares = 0.0;
        for (int i = 0; i < d; i++)
            squares += diagonal[c * d + i] * diagonal[c * d + i];
        for (int i = 0; i < lower; i++)
            squares += row[i] * row[i];
        prior += 0.5 * gamma * gamma * squares - m * sums[c];
    }
    return prior - k * constant;
}

/* alphas[k], means[k][d], icf[k][d(d+1)/2], x[n][d]; writes err[0] (NaN if memory is short). */
void gmm_objective(int d, int k, int n, const double *restrict alphas, const double *restrict means,
                   const double *restrict icf, const double *restrict x, double gamma, int m,
                   double *restrict err)
{
    const int row = d * (d + 1) / 2;
    double *diagonal = malloc(sizeof(double) * k * d);
    double *sums = malloc(sizeof(double) * k);
    double *terms = malloc(sizeof(double) * k);
    double *centred = malloc(sizeof(double) * d);
    double *q = malloc(sizeof(double) * d);
    if (!diagonal || !sums || !terms || !centred || !q) {
        *err = NAN;
    } else {
        for (int c = 0; c < k; c++) {
            sums[c] = 0.0;
            for (int i = 0; i < d; i++) {
                sums[c] += icf[c * row + i];
                diagonal[c * d + i] = exp(icf[c * row + i]);
            }
        }
        double total = 0.0;
        for (int p = 0; p < n; p++) {
            for (int c = 0; c < k; c++) {
                for (int i = 0; i < d; i++)
                    centred[i] = x[p * d + i] - means[c * d + i];
                terms[c] = alphas[c] + sums[c]
                         - 0.5 * mahalanobis(d, diagonal + c * d, icf + c * row + d, centred, q);
            }
            total += log_sum_exp(k, terms);
        }
        *err = -0.5 * n * d * log(2.0 * PI) + total - n * log_sum_exp(k, alphas)
             + wishart_prior(d, k, icf, diagonal, sums, gamma, m);
    }
    free(q);
    free(centred);
    free(terms);
    free(sums);
    free(diagonal);
}
