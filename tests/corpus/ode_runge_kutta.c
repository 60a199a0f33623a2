// Fourth order Runge-Kutta on a system of three, with a function that writes its derivative through a pointer.
// x: 6 0.5 1.5
static void lorenz(const double *v, const double *p, double *d) {
    d[0] = p[0] * (v[1] - v[0]);
    d[1] = v[0] * (p[1] - v[2]) - v[1];
    d[2] = v[0] * v[1] - p[2] * v[2];
}
void ode_runge_kutta(double *x, int n) {
    double h = 0.02, k[4][3], t[3];
    for (int s = 0; s < 10; s++) {
        lorenz(x, x + 3, k[0]);
        for (int i = 0; i < 3; i++) t[i] = x[i] + h / 2 * k[0][i];
        lorenz(t, x + 3, k[1]);
        for (int i = 0; i < 3; i++) t[i] = x[i] + h / 2 * k[1][i];
        lorenz(t, x + 3, k[2]);
        for (int i = 0; i < 3; i++) t[i] = x[i] + h * k[2][i];
        lorenz(t, x + 3, k[3]);
        for (int i = 0; i < 3; i++) x[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}
