/* What asks for the derivative of `transform`, which stands above. */
OBJECTIVE void objective(int n, double *restrict re, double *restrict im, double *restrict out)
{
    transform(n, re, im);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (re[i] * re[i] + im[i] * im[i]) * (1 + 0.5 * (i % 7)) + re[i];
    *out = sum / n;
}

static double *x, *work, *d_x;
static int n;

void setup(int size)
{
    n = size;
    x = realloc(x, 2 * n * sizeof *x);
    work = realloc(work, 2 * n * sizeof *x);
    d_x = fresh(d_x, 2 * n * sizeof *x);
    for (int i = 0; i < 2 * n; i++) x[i] = noise(i) - 0.5;
}

double primal(void)
{
    double out;
    memcpy(work, x, 2 * n * sizeof *x);
    objective(n, work, work + n, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memcpy(work, x, 2 * n * sizeof *x);
    memset(d_x, 0, 2 * n * sizeof *x);
    __enzyme_autodiff((void *)objective, enzyme_const, n, enzyme_dup, work, d_x, enzyme_dup, work + n, d_x + n,
                      enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 2 * n, d_x; }
