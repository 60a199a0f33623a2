/* Structs of a double and a float that change places at variable indices, many times in one loop: each may be any other's copy. */
#include "selfcheck.h"
struct item { double key; float value; };
#define SWAP(i, j) { struct item t = p[i]; p[i] = p[j]; p[j] = t; }
static double f(const double *x, int n)
{
    struct item p[9];
    for (int i = 0; i < 9; i++) p[i] = (struct item){x[i % n], 0.5f * i};
    for (int i = 1; i < 8; i++) { SWAP(i, n) SWAP(i, i - 1) SWAP(i + 1, n) SWAP(n, n + 1) SWAP(i, 8) SWAP(n + 2, i) }
    double s = 0;
    for (int i = 0; i < 9; i++) s += p[i].key * p[i].value;
    return s;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
