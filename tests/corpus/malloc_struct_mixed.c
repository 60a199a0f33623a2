// Heap structs of integers and floats.
#include <stdlib.h>
struct item { int key; double value; float weight; };
double malloc_struct_mixed(double *x, int n) {
    struct item *a = malloc(n * sizeof *a);
    double s = 0;
    for (int i = 0; i < n; i++) {
        a[i].key = (i + 2) % n;
        a[i].value = x[i] * x[i];
        a[i].weight = 0.5f;
    }
    for (int i = 0; i < n; i++) s += a[a[i].key].value * a[i].weight * x[i];
    free(a);
    return s;
}
