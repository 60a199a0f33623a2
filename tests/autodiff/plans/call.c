// oo 1
// A call that is not inlined leaves its frame on the tape.
__attribute__((noinline)) static double g(double x, double y) { return x * y * x; }
double f(double x) { return g(x * x, x) * x; }
