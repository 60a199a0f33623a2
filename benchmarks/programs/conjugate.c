/* Conjugate gradients on a sparse, symmetric matrix (a weighted Laplacian on a square): the derivative by the weights and the
   right side. Size: points on a side; 25 iterations. */
#include "program.h"

enum { ITERATIONS = 25 };

typedef struct {
    int rows, *start, *column;
    double *value;
} Sparse;

static void multiply(const Sparse *a, const double *x, double *y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0;
        for (int k = a->start[i]; k < a->start[i + 1]; k++) sum += a->value[k] * x[a->column[k]];
        y[i] = sum;
    }
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

OBJECTIVE void objective(const Sparse *a, const double *b, double *out)
{
    int n = a->rows;
    double *x = calloc(4 * n, sizeof *x), *r = x + n, *p = r + n, *q = p + n;
    for (int i = 0; i < n; i++) r[i] = p[i] = b[i];
    double rr = dot(n, r, r);
    for (int t = 0; t < ITERATIONS; t++) {
        multiply(a, p, q);
        double alpha = rr / dot(n, p, q);
        for (int i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double next = dot(n, r, r), beta = next / rr;
        rr = next;
        for (int i = 0; i < n; i++) p[i] = r[i] + beta * p[i];
    }
    *out = dot(n, x, b);
    free(x);
}

static Sparse *a, *d_a;
static double *b, *d_b, *d_all;
static int n, entries;

void setup(int size)
{
    n = size * size;
    if (!a) a = calloc(1, sizeof *a), d_a = calloc(1, sizeof *a);
    a->rows = d_a->rows = n;
    a->start = realloc(a->start, (n + 1) * sizeof(int)), a->column = realloc(a->column, 5 * n * sizeof(int));
    a->value = realloc(a->value, 5 * n * sizeof(double)), b = realloc(b, n * sizeof *b);
    d_all = fresh(d_all, 6 * n * sizeof *b);
    entries = 0;
    for (int i = 0; i < n; i++) {
        static const int dx[] = {0, -1, 1, 0, 0}, dy[] = {-1, 0, 0, 0, 1};
        a->start[i] = entries;
        for (int k = 0; k < 5; k++) {
            static const int order[] = {0, 1, 3, 2, 4};
            int x = i % size + dx[order[k]], y = i / size + dy[order[k]];
            if (x < 0 || y < 0 || x >= size || y >= size) continue;
            int j = y * size + x;
            a->column[entries] = j;
            a->value[entries++] = i == j ? 5.0 : -0.5 - noise(i < j ? i * 31 + j : j * 31 + i) * 0.5;
        }
        b[i] = noise(i + 17);
    }
    a->start[n] = entries;
    d_a->start = a->start, d_a->column = a->column, d_a->value = d_all, d_b = d_all + entries;
}

double primal(void)
{
    double out;
    objective(a, b, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_all, 0, (entries + n) * sizeof *b);
    __enzyme_autodiff((void *)objective, enzyme_dup, a, d_a, enzyme_dup, b, d_b, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = entries + n, d_all; }
