/* An array of structs with integers, floats and doubles side by side. */
#include "selfcheck.h"
struct item { int kind; float weight; double value; char tag; double other; };
static double f(const double *x, int n)
{
    struct item items[8];
    for (int i = 0; i < n; i++) {
        items[i].kind = i % 3;
        items[i].weight = 0.5f + (float)i;
        items[i].value = x[i];
        items[i].tag = (char)('a' + i);
        items[i].other = x[(i + 1) % n] * 2;
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += items[i].kind == 1 ? items[i].value * items[i].other : items[i].weight * exp(items[i].value);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
