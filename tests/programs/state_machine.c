/* An enum in a struct says how the numbers beside it are used. */
#include "selfcheck.h"
struct step { enum { GROW, SHRINK, HOLD } kind; double rate; };
static double f(const double *x, int n)
{
    struct step plan[6];
    double level = 1;
    for (int i = 0; i < n; i++) {
        plan[i].kind = x[i] > 1.5 ? SHRINK : x[i] > 0.8 ? GROW : HOLD;
        plan[i].rate = x[i] / 2;
    }
    for (int k = 0; k < 2 * n; k++) {
        const struct step *s = &plan[k % n];
        if (s->kind == GROW)
            level += s->rate * level;
        else if (s->kind == SHRINK)
            level /= 1 + s->rate;
    }
    return level;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
