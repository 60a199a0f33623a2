/* The adjoint of `convolution` as one writes it: each layer's output says where its rectifier was. */
#define gradient gradient_by_tool
#include "../programs/convolution.c"
#undef gradient

static void back(int n, const double *restrict in, double *restrict d_in, const double *restrict kernel,
                 double *restrict d_kernel, const double *restrict out, const double *restrict d_out)
{
    int m = n - K + 1;
    for (int i = 0; i < m; i++)
        for (int a = 0; a < K; a++)
            for (int b = 0; b < K; b++) {
                double sum = 0, weight = kernel[a * K + b];
                const double *from = in + (i + a) * n + b;
                double *to = d_in + (i + a) * n + b;
                for (int j = 0; j < m; j++) {
                    double e = d_out[i * m + j] * (out[i * m + j] > 0 ? 1 : 0.1);
                    sum += e * from[j];
                    to[j] += e * weight;
                }
                d_kernel[a * K + b] += sum;
            }
}

PUBLIC void gradient(void)
{
    int m = n - K + 1, l = m - K + 1;
    double *kernels = x + n * n, *one = work, *two = work + n * n, *d_one = d_work, *d_two = d_work + n * n, out;
    memset(d_x, 0, (n * n + 2 * K * K) * sizeof *x);
    memset(d_one, 0, m * m * sizeof *x);
    objective(n, x, kernels, one, two, &out);
    for (int i = 0; i < l * l; i++) d_two[i] = 2 * two[i] / (l * l);
    back(m, one, d_one, kernels + K * K, d_x + n * n + K * K, two, d_two);
    back(n, x, d_x, kernels, d_x + n * n, one, d_one);
}
