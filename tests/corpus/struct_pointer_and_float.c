// A struct of a pointer and a double, returned in registers, stored in an array.
struct pp { double *p; double v; };
static __attribute__((noinline)) struct pp mk(double *x, int i) { return (struct pp){x + i, x[i] * 2}; }
double struct_pointer_and_float(double *x, int n) { double s = 0; struct pp arr[4]; for (int i = 0; i < 4; i++) arr[i] = mk(x, i); for (int i = 0; i < 4; i++) s += *arr[i].p * arr[i].v; return s; }
