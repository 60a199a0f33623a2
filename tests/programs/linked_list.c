/* A list is built from the input, walked, and freed. */
#include "selfcheck.h"
struct node { double value; struct node *next; };
static double f(const double *x, int n)
{
    struct node *head = 0;
    for (int i = 0; i < n; i++) {
        struct node *fresh = (struct node *)malloc(sizeof *fresh);
        fresh->value = x[i] * x[i];
        fresh->next = head;
        head = fresh;
    }
    double sum = 0, weight = 1;
    while (head) {
        struct node *next = head->next;
        sum += weight * sin(head->value);
        weight += 0.5;
        free(head);
        head = next;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
