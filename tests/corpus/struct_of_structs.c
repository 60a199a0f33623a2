// A struct that holds structs and a pointer, returned and passed in memory.
#include <string.h>
struct in { double a; float b; int k; }; struct out { struct in v[2]; double *p; };
static __attribute__((noinline)) struct out mk(double *x, int i) { struct out o = {{{x[0], (float)x[1], i}, {x[i], 2, 3}}, x}; return o; }
static __attribute__((noinline)) double us(struct out o) { return o.v[0].a * (double)o.v[0].b + o.v[1].a * o.p[o.v[0].k]; }
double struct_of_structs(double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += us(mk(x, i)); return s; }
