/* Records of an integer, a number and an array, copied from static ones: the array is searched, the integer counted up
 * by a function that gets and returns it by value together with the number beside it. */
#include "selfcheck.h"
typedef struct { long time; double sec; } instant;
typedef struct { instant time; double P[3]; } record;
static record given[4];
static instant tick(instant t)
{
    t.time += 1;
    return t;
}
static double f(const double *x, int n)
{
    record seen[4];
    double s = 0;
    for (int i = 0; i < n; i++) {
        seen[i] = given[i];
        seen[i].P[i % 2] += x[i];
    }
    for (int i = 0; i < n; i++) {
        double pr = 0;
        for (int j = 0; j < 3; j++)
            if ((pr = seen[i].P[j]) != 0)
                break;
        instant t = tick(seen[i].time);
        s += sin(pr * pr + t.sec + (double)t.time);
    }
    return s;
}
int main(void)
{
    for (int i = 0; i < 4; i++)
        given[i] = (record){{16, 0.25 * i}, {0, 0, 0}};
    CHECK_GRADIENT(f, 4);
    return failures();
}
