// Two heap buffers that change roles after each step.
#include <stdlib.h>
void heat_two_buffers(double *x, int n) {
    double *u = malloc(n * sizeof *u), *v = malloc(n * sizeof *v);
    for (int i = 0; i < n; i++) u[i] = x[i];
    for (int s = 0; s < 5; s++) {
        v[0] = u[0];
        v[n - 1] = u[n - 1];
        for (int i = 1; i + 1 < n; i++) v[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) * u[i];
        double *t = u;
        u = v;
        v = t;
    }
    for (int i = 0; i < n; i++) x[i] = u[i];
    free(u);
    free(v);
}
