// Members of the elements of an array: what is stored in one member leaves the others as they are; by a flat index, at a
// variable stride and in pieces of elements it may be any. Steps of pairs of bodies, then all of that.
// b: 20
// out: 3
// n: 4
// steps: 2
// at: 7
// stride: 3
#include <math.h>
#include <string.h>
struct body {
    double place, speed, mass;
    double load[2];
};
double members_of_elements(double *restrict b, double *restrict out, int n, int steps, int at, int stride) {
    struct body *all = (struct body *)b;
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) {
                double d = all[i].place - all[j].place, f = 0.1 / (1 + d * d * sqrt(1 + d * d));
                all[i].speed -= d * all[j].mass * f * all[i].load[t & 1];
                all[j].speed += d * all[i].mass * f;
            }
        for (int i = 0; i < n; i++) all[i].place += 0.1 * all[i].speed;
    }
    for (int i = 0; i + 1 < n; i++) {
        double before = all[i].mass * all[i].load[0];
        b[(at + stride * i) % (5 * n)] *= 0.5 + sin(before);
        sum += before * all[i].mass;
    }
    for (int i = 0; i + 1 < n; i++) {
        double mass = all[i + 1].mass, next = all[i + 1].load[1];
        memcpy(&all[i].load[1], &all[i + 1].speed, 2 * sizeof(double));
        memcpy(&all[i + 1].mass, all[i].load, 2 * sizeof(double));
        out[i] = mass * mass * all[i + 1].mass + exp(-next * next) * all[i].load[1];
    }
    for (int i = 0; i < n; i++) sum += all[i].mass * all[i].mass * all[i].place + all[i].speed * all[i].load[1];
    return sum;
}
