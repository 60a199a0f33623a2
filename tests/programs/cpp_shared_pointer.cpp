// Shared ownership: the count is no number to differentiate.
#include "selfcheck.h"
#include <memory>
struct node { double v; std::shared_ptr<node> next; };
static double f(const double *x, int n)
{
    std::shared_ptr<node> head;
    for (int i = 0; i < n; i++)
        head = std::make_shared<node>(node{x[i] * x[i], head});
    double sum = 0;
    for (auto p = head; p; p = p->next)
        sum = sum * 0.5 + p->v;
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
