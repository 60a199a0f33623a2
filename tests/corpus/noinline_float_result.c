// Floats and doubles mixed over a call.
static __attribute__((noinline)) float g(float a, double b) { return (float)(a * b) + a; }
double noinline_float_result(double *x, int n) {
    float f = g((float)x[0], x[1]);
    return f * x[2] + g(f, f);
}
