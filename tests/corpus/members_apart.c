// Bodies whose places and speeds are overwritten, and whose masses are not; no type says which is which.
// b: 20
// n: 4
// steps: 3
#include <math.h>
struct body {
    double place[2], speed[2], mass;
};
double members_apart(double *restrict b, int n, int steps) {
    struct body *all = (struct body *)b;
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) {
                double d[2], r = 1;
                for (int k = 0; k < 2; k++) d[k] = all[i].place[k] - all[j].place[k], r += d[k] * d[k];
                for (int k = 0; k < 2; k++) {
                    all[i].speed[k] -= d[k] * all[j].mass / (r * sqrt(r));
                    all[j].speed[k] += d[k] * all[i].mass / (r * sqrt(r));
                }
            }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++) all[i].place[k] += 0.1 * all[i].speed[k];
    }
    for (int i = 0; i < n; i++) sum += all[i].mass * all[i].speed[0] * all[i].speed[1] + all[i].place[0];
    return sum;
}
