/* A function that the program says is inactive. */
#include "selfcheck.h"
static double log_of_calls[16];
static int calls;
__attribute__((noinline)) void note(double x) { log_of_calls[calls++ % 16] = x; }
void *__enzyme_inactivefn_note[] = {(void *)note};
static double f(double x)
{
    note(x);
    return x * x;
}
int main(void)
{
    expect("reverse", 0, __enzyme_autodiff((void *)f, 3.0), 6);
    expect("noted", 0, log_of_calls[0], 3);
    return failures();
}
