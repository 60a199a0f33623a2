/* __enzyme_batch: one function on several inputs. */
#include "selfcheck.h"
struct two { double a, b; };
struct two __enzyme_batch(void *, ...);
static double f(double x, double y) { return x * y + 1; }
int main(void)
{
    struct two r = __enzyme_batch((void *)f, enzyme_width, 2, enzyme_vector, 2.0, 3.0, enzyme_scalar, 10.0);
    expect("first", 0, r.a, 21);
    expect("second", 1, r.b, 31);
    return failures();
}
