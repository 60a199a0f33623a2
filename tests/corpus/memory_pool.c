// A pool from which nodes and their data are taken, given back as a whole; a free list of nodes.
#include <stdlib.h>
struct node { double v; struct node *next; };
struct pool { struct node *free_list; struct node **blocks; int count; };
static __attribute__((noinline)) struct node *take(struct pool *p) {
    if (!p->free_list) {
        p->blocks = realloc(p->blocks, (p->count + 1) * sizeof *p->blocks);
        struct node *b = p->blocks[p->count++] = malloc(3 * sizeof *b);
        for (int i = 0; i < 3; i++) {
            b[i].next = p->free_list;
            p->free_list = b + i;
        }
    }
    struct node *n = p->free_list;
    p->free_list = n->next;
    return n;
}
static __attribute__((noinline)) void give(struct pool *p, struct node *n) {
    n->next = p->free_list;
    p->free_list = n;
}
static __attribute__((noinline)) void close(struct pool *p) {
    for (int i = 0; i < p->count; i++) free(p->blocks[i]);
    free(p->blocks);
}
double memory_pool(double *x, int n) {
    struct pool p = {0};
    struct node *list = 0;
    double s = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < n; i++) {
            struct node *m = take(&p);
            m->v = x[i] * x[(i + round) % n];
            m->next = list;
            list = m;
        }
        for (int i = 0; i < n - 1; i++) {
            struct node *m = list;
            list = m->next;
            s += m->v * (list ? list->v : 1);
            give(&p, m);
        }
    }
    for (struct node *m = list; m; m = m->next) s += m->v * x[0];
    close(&p);
    return s;
}
