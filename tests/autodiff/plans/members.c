// ddo 2
// Of two bodies' members the masses are read again: what is written into the array are places. The distance is kept, its root not.
#include <math.h>
struct body { double place[2], mass; };
double f(struct body *restrict b, const int *n) {
    double sum = 0;
    for (int i = 0; i < *n; i++)
        for (int j = 0; j < i; j++) {
            double d = b[i].place[0] - b[j].place[1];
            b[i].place[1] += b[j].mass * b[i].mass * d / (1 + sqrt(1 + d * d));
            sum += b[j].place[0] * b[i].place[1];
        }
    return sum;
}
