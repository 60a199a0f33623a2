// References, defaults, overloads.
static void scale(double &a, double s = 2.0) { a *= s * a; }
static void scale(float &a, double s) { a = static_cast<float>(a * s); }
extern "C" double cpp_references(double *x, int n) {
    float f = static_cast<float>(x[0]);
    scale(x[1]);
    scale(x[2], x[3]);
    scale(f, x[4]);
    return x[1] * x[2] * f;
}
