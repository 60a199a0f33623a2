/* Three tangents in one run: the values come back in a struct. */
#include "selfcheck.h"
struct three { double at[3]; };
struct three __enzyme_fwddiff_three(void *, ...);
static double f(double x, double y) { return x * x * sin(y) + y; }
int main(void)
{
    double x = 1.3, y = 0.4;
    struct three t = __enzyme_fwddiff_three((void *)f, enzyme_width, 3, enzyme_dup, x, 1.0, 0.0, 2.0, enzyme_dup, y, 0.0, 1.0, 3.0);
    double by_x = 2 * x * sin(y), by_y = x * x * cos(y) + 1;
    expect("first", 0, t.at[0], by_x);
    expect("second", 1, t.at[1], by_y);
    expect("third", 2, t.at[2], 2 * by_x + 3 * by_y);
    return failures();
}
