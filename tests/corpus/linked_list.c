// A list on the heap, built and walked and freed.
#include <stdlib.h>
struct node { double value; struct node *next; };
double linked_list(double *x, int n) {
    struct node *head = NULL;
    for (int i = 0; i < n; i++) {
        struct node *c = malloc(sizeof *c);
        c->value = x[i] * x[i];
        c->next = head;
        head = c;
    }
    double s = 0;
    for (struct node *p = head; p; p = p->next) s = s * 0.5 + p->value * (s + 1);
    while (head) {
        struct node *next = head->next;
        free(head);
        head = next;
    }
    return s;
}
