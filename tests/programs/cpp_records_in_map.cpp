// Records of floats, a union of characters and an integer, pointers and a number in a map's nodes: copied whole, and in
// part, as many elements as the program says.
#include "selfcheck.h"
#include <map>
template <class T> struct Pair { T x, y; };
template <class T> struct Body { Pair<T> width; T mass; };
union Mark { struct { char a, b; } c; int value; };
template <class T> struct Contact {
    Pair<T> at, normal;
    T depth, sum;
    Mark mark;
};
template <class T> struct Key {
    Body<T> *first, *second;
    bool operator<(const Key<T> &o) const { return first < o.first || (first == o.first && second < o.second); }
};
template <class T> struct Arbiter {
    Contact<T> contacts[2];
    int count;
    Body<T> *first, *second;
    T friction;
    void update(const Contact<T> *fresh, int n)
    {
        Contact<T> merged[2];
        for (int i = 0; i < n; i++) {
            int same = -1;
            for (int k = 0; k < count; k++)
                if (contacts[k].mark.value == fresh[i].mark.value) same = k;
            merged[i] = fresh[i];
            if (same > -1) merged[i].sum = contacts[same].sum * contacts[same].depth;
        }
        for (int i = 0; i < n; i++) contacts[i] = merged[i];
        count = n;
    }
};
template <class T> static int collide(Contact<T> *found, Body<T> *a, Body<T> *b, int step)
{
    int n = step % 2 ? 2 : 1;
    for (int i = 0; i < n; i++) {
        found[i].at = {a->width.x * b->width.y, b->mass};
        found[i].normal = {b->width.x, T(1)};
        found[i].depth = a->mass + i;
        found[i].sum = b->width.x * a->width.x;
        found[i].mark.c = {(char)(i + step / 3), 0};
        found[i].mark.value &= 0xffff;
    }
    return n;
}
template <class T> static double f(const double *x, int n)
{
    std::map<Key<T>, Arbiter<T>> all;
    Body<T> bodies[3] = {{{T(x[0]), T(1)}, T(2)}, {{T(1), T(x[1])}, T(x[2])}, {{T(x[2]), T(.5)}, T(1)}};
    for (int step = 0; step < n; step++)
        for (int i = 0; i < 3; i++)
            for (int k = i + 1; k < 3; k++) {
                Contact<T> found[2] = {};
                int count = collide(found, &bodies[i], &bodies[k], step + i);
                Key<T> key = {&bodies[i], &bodies[k]};
                auto old = all.find(key);
                if (old == all.end()) {
                    Arbiter<T> made = {{found[0], found[1]}, count, &bodies[i], &bodies[k], bodies[k].mass};
                    all.insert(std::pair<const Key<T>, Arbiter<T>>(key, made));
                } else
                    old->second.update(found, count);
            }
    double sum = 0;
    for (auto &p : all)
        for (int i = 0; i < p.second.count; i++) {
            Contact<T> &c = p.second.contacts[i];
            sum += c.sum * c.depth * p.second.friction + c.at.x * c.normal.x;
            sum += c.at.y * p.second.first->width.y + c.normal.y;
        }
    return sum;
}
// Elements of which the first number is never looked at, in nodes whose storage is of characters.
template <class T> struct Item { T a[2]; int id; };
template <class T> struct List { Item<T> items[2]; int n; };
template <class T> static double g(const double *x, int n)
{
    std::map<int, List<T>> all;
    for (int k = 0; k < n; k++) {
        List<T> made;
        made.n = x[0] * k > 1 ? 2 : 1;
        for (int i = 0; i < 2; i++) {
            made.items[i].a[1] = x[0] * (k + i) * x[k];
            made.items[i].id = i;
        }
        List<T> &to = all[k];
        for (int i = 0; i < made.n; i++) to.items[i] = made.items[i];
        to.n = made.n;
    }
    double sum = 0;
    for (auto &p : all)
        for (int i = 0; i < p.second.n; i++) sum += p.second.items[i].a[1] + p.second.items[i].id;
    return sum;
}
template <class F> static void check(const char *what, F *single, F *twice)
{
    double x[4], grad[4] = {};
    sample(x, 4);
    __enzyme_autodiff((void *)single, enzyme_dup, x, grad, enzyme_const, 4);
    for (int i = 0; i < 4; i++) {
        sample(x, 4);
        expect_within(what, i, grad[i], slope_by(twice, 4, i), 1e-5);
    }
}
int main()
{
    check("f", f<float>, f<double>);
    check("g", g<float>, g<double>);
    return failures();
}
