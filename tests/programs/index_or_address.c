// An integer that is an index in one case and the address of active memory in another: enums, as LLVM keeps them.
#include "selfcheck.h"
#include <stdint.h>
struct node { int count; int keys[8]; double values[8]; struct node *next; };
struct map { struct node *first; double scale; };
static int is_set[] = {1, 0, 1, 1, 0, 1, 1};
static __attribute__((noinline)) void grow(struct map *m, int key)
{
    struct node *p = calloc(1, sizeof *p);
    p->next = m->first;
    p->keys[p->count++] = key;
    p->values[0] = 1;
    m->first = p;
}
static double found(const double *x, int n)
{
    struct map m = {NULL, x[1]};
    for (int i = 0; i < n; i++)
        grow(&m, i);
    double s = 0;
    for (int i = 0; i < 7; i++) {
        struct node *p = m.first;
        uintptr_t payload = (uintptr_t)&m;
        while (p->keys[0] != i % n && p->next)
            p = p->next;
        if (is_set[i])
            for (payload = 0; (int)payload < p->count - 1; payload++)
                if (p->keys[payload] == i % n)
                    break;
        if (is_set[i])
            p->values[payload] += x[i % n] * x[0];
        else
            m.scale *= x[i % n];
        s += (double)(payload & 1) + p->values[0] * x[i % n];
    }
    while (m.first) {
        struct node *p = m.first;
        m.first = p->next;
        s += p->values[0] * p->values[0];
        free(p);
    }
    return s * m.scale;
}
int main(void)
{
    CHECK_GRADIENT(found, 5);
    return failures();
}
