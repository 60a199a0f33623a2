// Gauss-Seidel sweeps: neighbours half updated.
void in_place_stencil(double *x, int n) {
    for (int k = 0; k < 4; k++)
        for (int i = 1; i + 1 < n; i++) x[i] = 0.3 * (x[i - 1] + x[i] * x[i] + x[i + 1]);
}
