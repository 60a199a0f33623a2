// Floats by value, active result.
#include <math.h>
double scalar_arguments(double a, double b, int k, double c) { return a * sin(b * k) + c / (a + b); }
