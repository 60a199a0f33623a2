// A small class with operators, passed by reference.
#include <cmath>
struct Vec {
    double a, b, c;
    Vec operator+(const Vec &o) const { return {a + o.a, b + o.b, c + o.c}; }
    Vec operator*(double s) const { return {a * s, b * s, c * s}; }
    double dot(const Vec &o) const { return a * o.a + b * o.b + c * o.c; }
    double norm() const { return std::sqrt(dot(*this)); }
};
extern "C" double cpp_operators(double *x, int n) {
    Vec u{x[0], x[1], x[2]}, v{x[3], x[4], x[5]};
    for (int i = 0; i < 3; i++) {
        Vec w = u * v.norm() + v * 0.5;
        v = u;
        u = w * (1 / w.norm());
    }
    return u.dot(v) + u.a;
}
