#include "selfcheck.h"
template <class T> struct Box { T v; Box(T a); T get() const; };
template <class T> Box<T>::Box(T a) : v(a * a) {}
template <class T> T Box<T>::get() const { return v * v; }
template struct Box<double>;
static double f(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) { Box<double> b(x[i]); s += b.get(); } return s; }
int main() { CHECK_GRADIENT(f, 3); return failures(); }
