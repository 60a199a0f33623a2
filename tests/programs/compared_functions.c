/* Functions that pointers are compared with: the program's own, whoever has set the pointer. */
#include "selfcheck.h"
typedef double (*function)(double);

static double square(double v) { return v * v; }
static double cube(double v) { return v * v * v; }
static function activation;

static double by_variable(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += activation == square ? 2 * x[i] : activation(x[i]) * x[i];
    return s;
}

/* Nothing is called through a pointer here. */
double by_argument(function given, const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += given == square ? 2 * x[i] : x[i] * x[i];
    return s;
}

struct kind { function value, slope; };
static const struct kind kinds[2] = {{square, cube}, {cube, square}};

static double by_table(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        const struct kind *k = &kinds[i & 1];
        s += k->value == square ? k->slope(x[i]) : k->value(x[i]) * sin(x[i]);
    }
    return s;
}

int main(void)
{
    double x[4], d[4] = {0};
    activation = square;
    CHECK_GRADIENT(by_variable, 4);
    activation = cube;
    CHECK_GRADIENT(by_variable, 4);
    CHECK_GRADIENT(by_table, 4);
    sample(x, 4);
    __enzyme_autodiff((void *)by_argument, enzyme_const, square, enzyme_dup, x, d, enzyme_const, 4);
    for (int i = 0; i < 4; i++)
        expect("square", i, d[i], 2);
    __enzyme_autodiff((void *)by_argument, enzyme_const, cube, enzyme_dup, x, d, enzyme_const, 4);
    for (int i = 0; i < 4; i++)
        expect("cube", i, d[i], 2 + 2 * x[i]);
    return failures();
}
