/* The best path: backpointers are integers. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double score[3] = {0, 0.1, 0.2}, next[3];
    int from[16][3], at = 0;
    for (int t = 0; t < n; t++) {
        for (int s = 0; s < 3; s++) {
            int best = 0;
            for (int p = 1; p < 3; p++)
                if (score[p] - 0.3 * abs(p - s) > score[best] - 0.3 * abs(best - s))
                    best = p;
            from[t][s] = best;
            next[s] = score[best] - 0.3 * abs(best - s) + x[t] * (s + 1) * (t % 2 ? 1 : -0.4);
        }
        memcpy(score, next, sizeof score);
    }
    for (int s = 1; s < 3; s++)
        if (score[s] > score[at])
            at = s;
    double sum = score[at] * score[at];
    for (int t = n; t-- > 0; at = from[t][at])
        sum += at * x[t];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
