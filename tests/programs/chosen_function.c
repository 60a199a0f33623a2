/* The function that is differentiated is one of several, which the program chooses as it runs. */
#include "selfcheck.h"

static double square(double x) { return x * x; }
static double cube(double x) { return x * x * x; }
static double wave(double x) { return sin(2 * x); }

static double slope_of_one(int which, double x)
{
    return __enzyme_autodiff((void *)(which == 0 ? square : which == 1 ? cube : wave), enzyme_out, x);
}

static double tangent_of_one(int which, double x)
{
    double (*f)(double) = square;
    if (which == 1)
        f = cube;
    else if (which == 2)
        f = wave;
    return __enzyme_fwddiff((void *)f, enzyme_dup, x, 2.0);
}

int main(void)
{
    double (*functions[])(double) = {square, cube, wave};
    for (int k = 0; k < 3; k++) {
        double wanted = slope(functions[k], 0.7);
        expect("reverse", k, slope_of_one(k, 0.7), wanted);
        expect("forward", k, tangent_of_one(k, 0.7), 2 * wanted);
    }
    return failures();
}
