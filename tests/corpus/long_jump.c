// setjmp and longjmp.
#include <setjmp.h>
static jmp_buf place;
static __attribute__((noinline)) double g(double v) {
    if (v > 100) longjmp(place, 1);
    return v * v;
}
double long_jump(double *x, int n) {
    if (setjmp(place)) return x[1];
    return g(x[0]) * x[1];
}
