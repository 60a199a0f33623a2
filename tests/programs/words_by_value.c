/* A union of a pointer and a double in structs that are passed and returned by value: in integer registers. */
#include "selfcheck.h"
struct Value { long tag; union { double number; const double *place; } u; };
union word { double number; const double *place; };
static __attribute__((noinline)) struct Value make(const double *x, int i)
{
    struct Value v;
    v.tag = i & 1;
    if (v.tag) v.u.place = x + i; else v.u.number = x[i] * x[i];
    return v;
}
static __attribute__((noinline)) double look(struct Value v) { return v.tag ? *v.u.place : v.u.number; }
static __attribute__((noinline)) struct Value pick(struct Value a, struct Value b, int c) { return c ? a : b; }
static double passed(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += sin(look(make(x, i))) * (i + 1);
    return sum;
}
static double picked(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i + 1 < n; i++) sum += sin(look(pick(make(x, i), make(x, i + 1), x[i] > 0.7))) * (i + 1);
    return sum;
}
static double stored(const double *x, int n)
{
    struct Value *v = malloc(n * sizeof *v);
    double sum = 0;
    for (int i = 0; i < n; i++) v[i] = make(x, i);
    for (int i = 0; i < n; i++) sum += sin(look(v[n - 1 - i])) * (i + 1);
    free(v);
    return sum;
}
static __attribute__((noinline)) union word uw(const double *x, int i)
{
    union word u;
    if (i & 1) u.place = x + i; else u.number = x[i] * x[i];
    return u;
}
static __attribute__((noinline)) double ulook(union word u, int i) { return i & 1 ? *u.place : u.number; }
static double unions(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += sin(ulook(uw(x, i), i)) * (i + 1);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(passed, 6);
    CHECK_GRADIENT(picked, 6);
    CHECK_GRADIENT(stored, 6);
    CHECK_GRADIENT(unions, 6);
    return failures();
}
