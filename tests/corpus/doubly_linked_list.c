// Nodes unlinked and linked again while their values change.
struct node { struct node *next, *last; double v; int key; };
double doubly_linked_list(double *x, int n) {
    struct node pool[7], *head = &pool[0];
    pool[0].next = pool[0].last = head;
    pool[0].v = 0.5;
    pool[0].key = 0;
    for (int i = 1; i <= n; i++) {
        struct node *p = &pool[i], *at = i % 2 ? head : head->next;
        p->v = x[i - 1] * at->v + x[0];
        p->key = i;
        p->next = at->next;
        p->last = at;
        at->next->last = p;
        at->next = p;
    }
    double s = 0;
    for (struct node *p = head->next; p != head; p = p->next) {
        s += p->v * p->last->v * p->key;
        if (p->key == 3) {
            p->last->next = p->next;
            p->next->last = p->last;
            p->next->v *= p->v;
        }
    }
    return s;
}
