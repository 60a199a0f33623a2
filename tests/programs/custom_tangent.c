/* A forward rule that the program registers. */
#include "selfcheck.h"
struct both { double value, tangent; };
__attribute__((noinline)) static double cube(double x) { return x * x * x; }
static struct both cube_forward(double x, double t) { struct both b = {x * x * x, 100 * t}; return b; }
void *__enzyme_register_derivative_cube[] = {(void *)cube, (void *)cube_forward};
static double f(double x) { return 2 * cube(x) + x; }
int main(void)
{
    expect("the rule's", 0, __enzyme_fwddiff((void *)f, enzyme_dup, 3.0, 1.0), 201);
    return failures();
}
