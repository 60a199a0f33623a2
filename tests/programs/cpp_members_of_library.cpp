// Classes of the library as first members, and one whose name is the library's to give: what points to them is cast to
// what they are members of.
#include "selfcheck.h"
#include <system_error>
#include <utility>
#define APART __attribute__((noinline)) static
template <typename Key> struct Item {
    Key key;
    double w, v;
};
template <typename Key> struct Link {
    Key *to;
    int turns;
};
template <typename Key> APART void copy(const Link<Key> *to, const Link<Key> *from)
{
    memcpy(reinterpret_cast<Item<Key> *>(to->to), reinterpret_cast<Item<Key> *>(from->to), sizeof(Item<Key>));
    if (from->turns > 1) copy(from, to);
}
template <typename Key> static double product(Item<Key> a)
{
    Item<Key> b = {};
    Link<Key> one, two;
    one.to = &a.key;
    one.turns = 1;
    two.to = &b.key;
    two.turns = 1;
    copy(&two, &one);
    return b.w * b.v;
}
struct _Node {
    long key;
    double weight;
};
APART void copy_nodes(_Node *to, _Node *from, int turns)
{
    memcpy(reinterpret_cast<Item<_Node> *>(to), reinterpret_cast<Item<_Node> *>(from), sizeof(Item<_Node>));
    if (turns > 1) copy_nodes(from, to, turns - 1);
}
static double of_nodes(const double *x, int n)
{
    Item<_Node> a = {{1, x[0]}, x[1], x[2]}, b = {};
    copy_nodes(&b.key, &a.key, n - 2);
    return b.w * b.v * b.key.weight;
}
static double f(const double *x, int n)
{
    double of_pairs = product<std::pair<int, double>>({{1, x[0]}, x[1], x[2]});
    return of_nodes(x, n) + of_pairs + product<std::error_code>({{}, x[0], x[1] * x[1]});
}
int main() { CHECK_GRADIENT(f, 3); return failures(); }
