/* A variable that has a second name, which other objects may define: the derivative uses the program's own, by both. */
#include <math.h>
#include <stdio.h>

double __enzyme_autodiff(void *, ...);

double scale = 3.0;
extern double other __attribute__((weak, alias("scale")));

static double f(double x)
{
    scale += 1;
    return x * x * other;
}

int main(void)
{
    double first = __enzyme_autodiff((void *)f, 2.0), second = __enzyme_autodiff((void *)f, 2.0);
    int bad = fabs(first - 16) > 1e-12 || fabs(second - 20) > 1e-12 || other != 5;
    printf("%g %g %g %s\n", first, second, other, bad ? "WRONG" : "right");
    return bad;
}
