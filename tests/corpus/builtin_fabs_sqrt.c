// Builtins without a library call.
double builtin_fabs_sqrt(double *x, int n) {
    return __builtin_sqrt(__builtin_fabs(x[0] - 4)) * __builtin_fmin(x[1], 9.0) + __builtin_copysign(x[2], -1.0);
}
