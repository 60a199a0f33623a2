// A list of one node: its next pointer is a constant null on every way.
#include <stdlib.h>
struct node { double value; struct node *next; };
double linked_list_of_one(double *x, int n) {
    struct node *head = 0;
    double s = 0;
    for (int i = 0; i < 1; i++) {
        struct node *o = malloc(sizeof *o);
        o->value = x[i] * x[1];
        o->next = head;
        head = o;
    }
    for (struct node *o = head; o; o = o->next) s += 0.2 * o->value * x[2];
    while (head) {
        struct node *o = head->next;
        free(head);
        head = o;
    }
    return s;
}
