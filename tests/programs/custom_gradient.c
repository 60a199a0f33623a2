/* A reverse rule that the program registers is used instead of the function's body. */
#include "selfcheck.h"
static int used;
__attribute__((noinline)) static double cube(double x) { return x * x * x; }
static void *cube_augmented(double x) { double *t = (double *)malloc(sizeof *t); *t = x; return t; }
static double cube_reverse(double x, double seed, void *tape)
{
    double kept = *(double *)tape;
    (void)x;
    free(tape);
    used++;
    return 10 * seed * kept;
}
struct augmented { void *tape; double value; };
static struct augmented augment(double x) { struct augmented a = {cube_augmented(x), cube(x)}; return a; }
void *__enzyme_register_gradient_cube[] = {(void *)cube, (void *)augment, (void *)cube_reverse};
static double f(double x) { return 2 * cube(x) + x; }
int main(void)
{
    expect("the rule's", 0, __enzyme_autodiff((void *)f, 3.0), 2 * 30 + 1);
    expect("used", 0, used, 1);
    return failures();
}
