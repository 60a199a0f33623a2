/* Text decides which function is applied. */
#include "selfcheck.h"
static double apply(const char *name, double x)
{
    if (!strcmp(name, "square"))
        return x * x;
    if (!strncmp(name, "sine", 4))
        return sin(x);
    return x / (double)strlen(name);
}
static double f(const double *x, int n)
{
    static const char *const names[] = {"square", "sine of", "other"};
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += apply(names[i % 3], x[i]) * x[0];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
