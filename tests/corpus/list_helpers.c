// Lists made, reversed, mapped and freed in functions; one list of active and one of constant data.
#include <stdlib.h>
struct link { double value; struct link *next; };
static __attribute__((noinline)) struct link *cons(double value, struct link *next) {
    struct link *l = malloc(sizeof *l);
    l->value = value;
    l->next = next;
    return l;
}
static __attribute__((noinline)) struct link *reversed(struct link *l) {
    struct link *r = 0;
    while (l) {
        struct link *next = l->next;
        l->next = r;
        r = l;
        l = next;
    }
    return r;
}
static __attribute__((noinline)) void drop(struct link *l) {
    while (l) {
        struct link *next = l->next;
        free(l);
        l = next;
    }
}
double list_helpers(double *x, int n) {
    struct link *a = 0, *b = 0;
    for (int i = 0; i < n; i++) {
        a = cons(x[i], a);
        b = cons(i + 1, b);
    }
    a = reversed(a);
    double s = 0;
    for (struct link *p = a, *q = b; p; p = p->next, q = q->next) {
        s += p->value * p->value * q->value;
        if (p->next) p->next->value *= p->value;
    }
    drop(a);
    drop(b);
    return s;
}
