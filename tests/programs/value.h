/* A number or a pointer, by a tag: words of memory of either type. */
#include "selfcheck.h"

struct Value {
    long tag;
    union { double number; const double *place; } u;
};

static void made(struct Value *v, const double *x, int i)
{
    v->tag = i & 1;
    if (v->tag)
        v->u.place = x + i;
    else
        v->u.number = x[i] * x[i];
}

static double looked_at(const struct Value *v) { return v->tag ? *v->u.place : v->u.number; }
