// Equality with a float constant: LLVM replaces x by the constant in the branch, which would lose the derivative.
// x: 2 3.0 3.0
// no finite differences
double equality_test(double *x, int n) {
    if (x[0] == 3.0) return x[0] * x[0] * x[1];
    return x[0];
}
