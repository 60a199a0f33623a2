// Copies of a part of an array of structs: whole elements, and some members of one more.
#include "selfcheck.h"
struct pair { double a; long n; double b; };
static double prefixes(const double *x, int n)
{
    struct pair from[3], to[3];
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        from[i].a = x[i] * x[i];
        from[i].n = i + 1;
        from[i].b = x[i + 1] * x[0];
    }
    for (int length = 8; length <= 72; length += 8) {
        memset(to, 0, sizeof to);
        memcpy(to, from, length * (n > 2));
        for (int i = 0; i < 3; i++)
            sum += to[i].a * to[i].n + to[i].b * x[i] * length;
    }
    return sum;
}
static double moved(const double *x, int n)
{
    struct pair all[4];
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        all[i].a = x[i];
        all[i].n = i;
        all[i].b = x[i] * x[i];
    }
    memmove(all + 1, all, 24 + 8 * (n > 2));
    memmove(all, all + 1, 40 * (n > 2));
    for (int i = 0; i < 4; i++)
        sum += all[i].a * all[i].b * (all[i].n + 2);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(prefixes, 5);
    CHECK_GRADIENT(moved, 5);
    return failures();
}
