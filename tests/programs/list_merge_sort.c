/* A list that is built, turned round, sorted by merging, and freed, with a float and an integer in each node. */
#include "selfcheck.h"
struct node { double value; struct node *next; int tag; float weight; };
static struct node *turned(struct node *list)
{
    struct node *result = NULL;
    while (list) {
        struct node *next = list->next;
        list->next = result;
        result = list;
        list = next;
    }
    return result;
}
static struct node *merged(struct node *a, struct node *b)
{
    struct node head = {0}, *last = &head;
    while (a && b) {
        struct node **less = a->value < b->value ? &a : &b;
        last = last->next = *less;
        *less = (*less)->next;
    }
    last->next = a ? a : b;
    return head.next;
}
static struct node *sorted(struct node *list)
{
    if (!list || !list->next)
        return list;
    struct node *middle = list, *end = list->next;
    while (end && end->next) {
        middle = middle->next;
        end = end->next->next;
    }
    struct node *rest = middle->next;
    middle->next = NULL;
    return merged(sorted(list), sorted(rest));
}
static double f(const double *x, int n)
{
    struct node *list = NULL;
    for (int i = 0; i < n; i++) {
        struct node *made = (struct node *)malloc(sizeof *made);
        *made = (struct node){x[i] * x[i] - 2 * x[i], list, i, 0.5f};
        list = made;
    }
    list = sorted(turned(list));
    double s = 0;
    for (int k = 1; list; k++) {
        struct node *next = list->next;
        s += list->value * list->value * k * list->weight + list->tag;
        free(list);
        list = next;
    }
    return s;
}
int main(void) { CHECK_EVERY_WAY(f, 6); return failures(); }
