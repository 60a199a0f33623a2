// Two functions that call each other.
#include <math.h>
static double odd(double *x, int n);
static double even(double *x, int n) { return n == 0 ? x[0] : sin(odd(x, n - 1)) * x[n % 6]; }
static double odd(double *x, int n) {
    if (n == 0) return x[1];
    x[n % 6] *= 1.1;
    return even(x, n - 1) + x[n % 6];
}
double mutual_recursion(double *x, int n) { return even(x, 9); }
