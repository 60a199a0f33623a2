// Vectors of clang, with shuffles.
typedef double v4 __attribute__((vector_size(32)));
double vector_extension(double *x, int n) {
    v4 a = {x[0], x[1], x[2], x[3]}, b = {x[2], x[3], x[4], x[5]};
    for (int i = 0; i < 3; i++) {
        v4 t = a * b + 0.5;
        a = __builtin_shufflevector(t, b, 1, 2, 3, 4);
        b = t - a * 0.25;
    }
    return a[0] * b[1] + a[2] - b[3];
}
