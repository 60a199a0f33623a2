// Nodes of lists embedded in other objects (as in kernels and games): the object is found from its node by an offset.
#include "selfcheck.h"
#include <cstddef>
#define APART __attribute__((noinline)) static
struct Node {
    Node *next;
    long key;
};
struct Item {
    double w;
    Node hook;
    double v;
};
static inline Item *item(Node *n) { return (Item *)((char *)n - offsetof(Item, hook)); }
APART double total(Node *n)
{
    double sum = 0;
    for (; n; n = n->next) sum += item(n)->v * item(n)->w * n->key;
    return sum;
}
APART double one(Node *n) { return item(n)->v * item(n)->w; }
APART void scale(Node *n, double by)
{
    item(n)->v *= by;
    item(n)->w += item(n)->v;
}
APART void copy(Node *to, Node *from)
{
    Node kept = *to;
    memcpy(item(to), item(from), sizeof(Item));
    *to = kept;
}
static double f(const double *x, int)
{
    Item a = {x[0], {nullptr, 1}, x[1]}, b = {x[2], {&a.hook, 2}, x[3]}, c = {0, {&b.hook, 3}, 0};
    scale(&a.hook, x[4]);
    scale(&b.hook, x[0]);
    copy(&c.hook, &b.hook);
    return total(&c.hook) + one(&a.hook) * one(&c.hook);
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
