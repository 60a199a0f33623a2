// Loops of unknown length within loops of unknown length, leaving two at a time.
#include <math.h>
double chunks_nested(double *x, int n) {
    double s = x[0], total = 0;
    int i = 0;
    while (s < 30.0) {
        double t = s;
        int j = 0;
        while (t > 0.5) {
            t = t * 0.9 - 0.01 * x[j % n];
            total += t * x[i % n] * 0.01;
            j++;
            if (j > 90) goto out;
        }
        s = s * 1.1 + total * 0.001;
        i++;
    }
out:
    return s + total;
}
