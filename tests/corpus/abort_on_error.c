// abort and exit on ways that are not taken.
#include <stdlib.h>
double abort_on_error(double *x, int n) {
    if (n < 1) abort();
    double s = 1;
    for (int i = 0; i < n; i++) {
        if (x[i] == 0) exit(3);
        s /= x[i];
    }
    return s;
}
