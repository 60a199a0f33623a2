/* Nodes point both ways; one is taken out. */
#include "selfcheck.h"
struct node { struct node *before, *after; double v; };
static double f(const double *x, int n)
{
    struct node nodes[8], *p;
    for (int i = 0; i < n; i++) {
        nodes[i].v = x[i] * x[i];
        nodes[i].before = i ? &nodes[i - 1] : 0;
        nodes[i].after = i + 1 < n ? &nodes[i + 1] : 0;
    }
    p = &nodes[2];
    p->before->after = p->after;
    p->after->before = p->before;
    double sum = 0, w = 1;
    for (p = &nodes[n - 1]; p; p = p->before, w *= 2)
        sum += w * p->v;
    return sum * nodes[2].v;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
