// A class of one's own as the first member of others: what points to it is cast to what it is a member of.
#include "selfcheck.h"
#define APART __attribute__((noinline)) static
struct Shape {
    int kind;
    double scale;
};
struct Circle {
    Shape shape;
    double radius;
};
struct Box {
    Shape shape;
    double w, h;
    long tag;
};
APART double area(Shape *s)
{
    if (s->kind == 0) {
        Circle *c = reinterpret_cast<Circle *>(s);
        return s->scale * c->radius * c->radius;
    }
    Box *b = reinterpret_cast<Box *>(s);
    return s->scale * b->w * b->h;
}
APART void grow(Shape *s, double by)
{
    if (s->kind == 0) {
        ((Circle *)s)->radius *= by;
    } else {
        ((Box *)s)->w *= by;
        ((Box *)s)->h += by;
    }
}
APART void copy(Shape *to, const Shape *from)
{
    memcpy(to, from, from->kind == 0 ? sizeof(Circle) : sizeof(Box));
}
static double f(const double *x, int)
{
    Circle c = {{0, x[0]}, x[1]}, c2;
    Box b = {{1, x[2]}, x[3], x[4], 7}, b2;
    grow(&c.shape, x[1]);
    grow(&b.shape, x[2]);
    copy(&c2.shape, &c.shape);
    copy(&b2.shape, &b.shape);
    return area(&c2.shape) * area(&b2.shape) + area(&c.shape);
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
