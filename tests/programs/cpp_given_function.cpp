// Lambdas that become pointers, and templates that differentiate what they are given.
#include <cmath>
#include "selfcheck.h"
template <class R, class... A> R __enzyme_autodiff(void *, A...);
template <class F> static double gradient(F f, double x) { return __enzyme_autodiff<double>((void *)+f, x); }
static double of_pointer(double (*f)(double), double x) { return __enzyme_autodiff<double>((void *)f, x); }
template <auto f> static double of_constant(double x) { return __enzyme_autodiff<double>((void *)f, x); }
template <class F> static double called(F *f, double x) { return (*f)(x); }
template <class F> static double of_object(F &f, double x)
{
    return __enzyme_autodiff<double>((void *)&called<F>, enzyme_const, (void *)&f, x);
}
static double cube(double x) { return x * x * x; }
int main()
{
    double k = 3;
    auto scaled = [&k](double x) { return k * x * x; };
    expect("lambda", 0, gradient([](double x) { return x * x; }, 3), 6);
    expect("plus", 0, __enzyme_autodiff<double>((void *)+[](double x) { return std::exp(x); }, 1.0), std::exp(1.0));
    expect("pointer", 0, of_pointer(cube, 2), 12);
    expect("constant", 0, of_constant<cube>(2), 12);
    expect("object", 0, of_object(scaled, 2), 12);
    return failures();
}
