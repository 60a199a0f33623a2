// A switch that LLVM turns into a table of float constants.
// k: 3
double switch_dense_table(double *x, int n, int k) {
    double w;
    switch (k) {
    case 0: w = 0.25; break;
    case 1: w = 1.5; break;
    case 2: w = -2.0; break;
    case 3: w = 3.25; break;
    case 4: w = 0.125; break;
    default: w = 1.0;
    }
    return w * x[0] * x[1];
}
