/* Each function of one argument of libm, at a point where it is smooth. */
#include "selfcheck.h"
#define ONE(name) static double my_##name(double x) { return name(x) * x; }
ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh) ONE(asinh) ONE(atanh)
ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(sqrt) ONE(cbrt) ONE(erf) ONE(erfc) ONE(tgamma)
ONE(lgamma) ONE(fabs) ONE(floor) ONE(ceil)
int main(void)
{
#define TRY(name) CHECK_SLOPE(my_##name, 0.6);
    TRY(sin) TRY(cos) TRY(tan) TRY(asin) TRY(acos) TRY(atan) TRY(sinh) TRY(cosh) TRY(tanh) TRY(asinh) TRY(atanh)
    TRY(exp) TRY(exp2) TRY(expm1) TRY(log) TRY(log2) TRY(log10) TRY(log1p) TRY(sqrt) TRY(cbrt) TRY(erf) TRY(erfc)
    TRY(tgamma) TRY(lgamma) TRY(fabs) TRY(floor) TRY(ceil)
    return failures();
}
