// Structs with a header (a number, a float and a pointer in it) that end in arrays, grown by copies of the whole.
#include <stdlib.h>
#include <string.h>
struct numbers { long room; double v[]; };
struct tail { double at; const double *by; long used; float weight; struct { float a; double b; } v[]; };
static struct tail *longer(const struct tail *t, long room) {
    size_t bytes = sizeof *t + room * sizeof t->v[0];
    struct tail *made = malloc(bytes);
    if (room > t->used) bytes = sizeof *t + t->used * sizeof t->v[0];
    memcpy(made, t, bytes);
    return made;
}
static double collected(double *x, int n) {
    struct tail first = {x[0], x + 1, 0, x[1]}, *t = &first;
    for (int i = 0; i < n; i++) {
        struct tail *next = longer(t, i + 2);
        if (t != &first) free(t);
        t = next;
        t->v[t->used].a = t->by[i % (n - 1)] * t->at;
        t->v[t->used++].b = x[i] * t->weight;
        t->at *= 1.5;
    }
    double s = t->at;
    for (long i = 0; i < t->used; i++) s += t->v[i].a * t->v[i].b;
    free(t);
    return s;
}
double flexible_array_grown(double *x, int n) {
    struct numbers *p = NULL;
    double s = 0;
    long used = 0;
    for (int i = 0; i < 2 * n; i++) {
        if (!p || used == p->room) {
            long room = p ? 2 * p->room : 1;
            p = realloc(p, sizeof *p + room * sizeof(double));
            p->room = room;
        }
        p->v[used++] = x[i % n] * (i + 1);
    }
    for (int i = 1; i < used; i++) s += p->v[i] * p->v[i - 1];
    free(p);
    return s + collected(x, n);
}
