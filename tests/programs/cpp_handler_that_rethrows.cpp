// A handler and a destructor change active memory on the way of an exception to the handler that goes on.
#include "selfcheck.h"
struct Wrong { int code; };
struct Checked {
    double v;
    Checked(double x, double *log) : v(x)
    {
        *log += x;
        if (x > 2)
            throw Wrong{3};
    }
};
struct Scaled {
    double *log, by;
    ~Scaled() { *log *= by; }
};
__attribute__((noinline)) static double square(double x, double *log)
{
    Scaled at_end{log, x + 1};
    try {
        Checked c(x, log);
        return c.v * c.v;
    } catch (Wrong &) {
        *log *= x;
        throw;
    }
}
static double f(double x)
{
    double log = 1, result = 0;
    try {
        result = square(x, &log);
    } catch (Wrong &wrong) {
        result = wrong.code * log * x;
    }
    return result + log;
}
int main()
{
    CHECK_SLOPE(f, 3.0);
    CHECK_SLOPE(f, 1.5);
    return failures();
}
