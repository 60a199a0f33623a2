// What was copied is overwritten, with what is made of the copy.
#include <stdlib.h>
#include <string.h>
void shared_not_in_place(double *x, int n) {
    double *w = malloc(n * sizeof *w);
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) x[i] = w[n - 1 - i] * w[i] * w[0];
    free(w);
}
