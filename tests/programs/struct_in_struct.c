/* Structs within structs within an array, passed by address. */
#include "selfcheck.h"
struct point { double x, y; };
struct segment { struct point from, to; int tag; };
static double length(const struct segment *s)
{
    double dx = s->to.x - s->from.x, dy = s->to.y - s->from.y;
    return sqrt(dx * dx + dy * dy + 0.01) * s->tag;
}
static double f(const double *x, int n)
{
    struct segment s[3];
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        s[i].from.x = x[i % n], s[i].from.y = x[(i + 1) % n] * 2;
        s[i].to = s[0].from;
        s[i].to.x *= x[(i + 2) % n];
        s[i].tag = i + 1;
    }
    for (int i = 0; i < 3; i++)
        sum += length(&s[i]);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
