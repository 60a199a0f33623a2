/* Callers that declare {value, tape}: the tape is the only pointer there. In registers, as integers and in memory. */
#include "selfcheck.h"
void __enzyme_reverse(void *, ...);
typedef struct { double value; void *tape; } number_first;
typedef struct { long value; void *tape; } integer_first;
typedef struct { double a, b; } two;
typedef struct { two value; void *tape; } struct_first;
number_first __enzyme_augmentfwd_number(void *, ...);
integer_first __enzyme_augmentfwd_integer(void *, ...);
struct_first __enzyme_augmentfwd_struct(void *, ...);

static double cubes(double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i] * x[i], x[i] = 1;
    return sum;
}
static long count(double *x, int n)
{
    long found = 0;
    for (int i = 0; i < n; i++) found += x[i] > 1, x[i] *= x[i];
    return found;
}
static two both(double *x, int n) { return (two){x[0] * x[1], x[1] * n}; }

int main(void)
{
    double x[2] = {1, 2}, d[2] = {0, 0};
    number_first a = __enzyme_augmentfwd_number((void *)cubes, enzyme_dup, x, d, 2);
    expect("sum", 0, a.value, 9);
    __enzyme_reverse((void *)cubes, enzyme_dup, x, d, 2, 1.0, a.tape);
    expect("of cubes", 0, d[0], 3), expect("of cubes", 1, d[1], 12);

    double y[2] = {1, 3}, e[2] = {1, 1};
    integer_first b = __enzyme_augmentfwd_integer((void *)count, enzyme_dup, y, e, 2);
    expect("count", 0, (double)b.value, 1);
    __enzyme_reverse((void *)count, enzyme_dup, y, e, 2, b.tape);
    expect("of squares", 0, e[0], 2), expect("of squares", 1, e[1], 6);

    double z[2] = {2, 5}, g[2] = {0, 0};
    struct_first c = __enzyme_augmentfwd_struct((void *)both, enzyme_dup, z, g, 3);
    expect("product", 0, c.value.a, 10), expect("multiple", 0, c.value.b, 15);
    __enzyme_reverse((void *)both, enzyme_dup, z, g, 3, (two){1, 1}, c.tape);
    expect("of both", 0, g[0], 5), expect("of both", 1, g[1], 5);
    return failures();
}
