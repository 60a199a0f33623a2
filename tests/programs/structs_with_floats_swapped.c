/* Structs of a double beside a float that are swapped whole: of a copy only the same member is read. */
#include "selfcheck.h"
struct item { double value; int count; float weight; };
static double f(const double *x, int n)
{
    struct item items[8];
    for (int i = 0; i < n; i++) {
        items[i].value = x[i];
        items[i].count = -i;
        items[i].weight = (float)(i * 0.5);
    }
    struct item first = items[0];
    items[0] = items[n - 1];
    items[n - 1] = first;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += items[i].value * items[i].value * items[i].count + items[i].weight * items[i].value;
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
