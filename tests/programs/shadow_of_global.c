/* A global that the program gives a shadow of its own. */
#include "selfcheck.h"
double weight = 2, weight_shadow = 0;
void *__enzyme_shadow_global_weight[] = {&weight, &weight_shadow};
static double f(double x) { return weight * x * x; }
int main(void)
{
    expect("x", 0, __enzyme_autodiff((void *)f, 3.0), 12);
    expect("weight", 0, weight_shadow, 9);
    return failures();
}
