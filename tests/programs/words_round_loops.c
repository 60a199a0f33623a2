/* Words of a union that LLVM keeps in registers of one type from one iteration to the next. */
#include "value.h"

static double as_pointers(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v);
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    const double *last = v[n - 1].u.place;
    long tag = v[n - 1].tag;
    for (int i = 0; i < n; i++) {
        const double *p = v[i].u.place;
        long t = v[i].tag;
        v[i].u.place = last;
        v[i].tag = tag;
        last = p;
        tag = t;
    }
    for (int i = 0; i < n; i++)
        sum += sin(looked_at(v + i)) * (i + 1);
    free(v);
    return sum;
}

static double as_numbers(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), most;
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    double number = v[0].u.number, second = number;
    long tag = v[0].tag, other = tag;
    for (int i = 1; i < n; i++)
        if (x[i] > 0.7) {
            second = number;
            other = tag;
            number = v[i].u.number;
            tag = v[i].tag;
        }
    most.tag = tag;
    most.u.number = number;
    sum = exp(looked_at(&most));
    most.tag = other;
    most.u.number = second;
    sum *= looked_at(&most);
    free(v);
    return sum;
}

static double largest(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v), first, second;
    double sum = 0;
    for (int i = 0; i < n; i++)
        made(v + i, x, i);
    first = second = v[0];
    for (int i = 1; i < n; i++)
        if (looked_at(v + i) > looked_at(&first)) {
            second = first;
            first = v[i];
        }
    sum = looked_at(&first) * looked_at(&first) + exp(looked_at(&second));
    free(v);
    return sum;
}

int main(void)
{
    CHECK_GRADIENT(as_pointers, 6);
    CHECK_GRADIENT(as_numbers, 6);
    CHECK_GRADIENT(as_numbers, 7);
    CHECK_GRADIENT(largest, 6);
    return failures();
}
