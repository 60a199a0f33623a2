// A class with operators and a template over it.
#include "selfcheck.h"
struct vec2 {
    double x, y;
    vec2 operator+(const vec2 &o) const { return {x + o.x, y + o.y}; }
    vec2 operator*(double k) const { return {x * k, y * k}; }
    double operator*(const vec2 &o) const { return x * o.x + y * o.y; }
    vec2 &operator+=(const vec2 &o) { return *this = *this + o; }
};
template <class T> static T blend(const T &a, const T &b, double t) { return a * (1 - t) + b * t; }
static double f(const double *x, int n)
{
    vec2 p{x[0], x[1]}, sum{0, 0};
    for (int i = 0; i + 1 < n; i++)
        sum += blend(p, vec2{x[i], x[i + 1]}, x[i] / 4);
    return sum * p + sum.x;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
