/* Two layers of 5 x 5 convolution with a smooth rectifier: the derivative by image and kernels. Size: pixels on a side. */
#include "program.h"

enum { K = 5 };

static void convolve(int n, const double *restrict in, const double *restrict kernel, double *restrict out)
{
    int m = n - K + 1;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int a = 0; a < K; a++)
                for (int b = 0; b < K; b++) sum += in[(i + a) * n + j + b] * kernel[a * K + b];
            out[i * m + j] = sum > 0 ? sum : 0.1 * sum;
        }
}

OBJECTIVE void objective(int n, const double *restrict image, const double *restrict kernels, double *restrict one,
                         double *restrict two, double *restrict out)
{
    convolve(n, image, kernels, one);
    convolve(n - K + 1, one, kernels + K * K, two);
    int m = n - 2 * (K - 1);
    double sum = 0;
    for (int i = 0; i < m * m; i++) sum += two[i] * two[i];
    *out = sum / (m * m);
}

static double *x, *d_x, *work, *d_work;
static int n;

void setup(int size)
{
    n = size;
    x = realloc(x, (n * n + 2 * K * K) * sizeof *x), d_x = fresh(d_x, (n * n + 2 * K * K) * sizeof *x);
    work = realloc(work, 2 * n * n * sizeof *x), d_work = fresh(d_work, 2 * n * n * sizeof *x);
    for (int i = 0; i < n * n + 2 * K * K; i++) x[i] = noise(i) - 0.4;
}

double primal(void)
{
    double out;
    objective(n, x, x + n * n, work, work + n * n, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_x, 0, (n * n + 2 * K * K) * sizeof *x);
    memset(d_work, 0, 2 * n * n * sizeof *x);
    __enzyme_autodiff((void *)objective, enzyme_const, n, enzyme_dup, x, d_x, enzyme_dup, x + n * n, d_x + n * n,
                      enzyme_dup, work, d_work, enzyme_dup, work + n * n, d_work + n * n, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = n * n + 2 * K * K, d_x; }
