// A list that is reversed and whose values change while it is walked.
#include <stdlib.h>
struct node { struct node *next; double value; };
double linked_list_in_place(double *x, int n) {
    struct node pool[8], *head = NULL, *back = NULL;
    for (int i = 0; i < n; i++) {
        pool[i].value = x[i];
        pool[i].next = head;
        head = &pool[i];
    }
    while (head) {
        struct node *next = head->next;
        head->next = back;
        back = head;
        head = next;
    }
    double s = 1;
    for (struct node *p = back; p; p = p->next) {
        p->value *= s;
        s = p->value + 0.3;
        if (p->next) p->next->value += 0.1 * s;
    }
    return s;
}
