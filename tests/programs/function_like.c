/* A function of the program's own is differentiated like one of libm. */
#include "selfcheck.h"
__attribute__((noinline)) double my_exponential(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; k < 40; k++)
        sum += term *= x / k;
    return sum;
}
void *__enzyme_function_like_exp[] = {(void *)my_exponential, (void *)"exp"};
static double f(double x) { return my_exponential(x) * x; }
int main(void) { CHECK_SLOPE(f, 0.9); return failures(); }
