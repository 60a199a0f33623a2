/* Inactive variables reached through their addresses: what is read there is constant, however far LLVM optimises. */
#include "selfcheck.h"
static double cache, kept[4];
struct box { double *p; };
void *__enzyme_inactive_global_cache = &cache, *__enzyme_inactive_global_kept = &kept;
static void put(double *p, double v) { *p = v; }
static double get(const double *p) { return *p; }
__attribute__((noinline)) static double *where(int i) { return i ? &cache : kept + 2; }
static double helpers(double x)
{
    put(&cache, x * x);
    return get(&cache) * x;
}
static double elements(double x)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        put(kept + i, x * i);
    for (int i = 0; i < 4; i++)
        sum += get(&kept[i]) * x;
    return sum;
}
static double in_struct(double x)
{
    struct box box = {&cache};
    put(box.p, x);
    return get(box.p) * x;
}
static double copied(double x)
{
    double values[4];
    for (int i = 0; i < 4; i++)
        values[i] = x * i;
    memcpy(kept, values, sizeof kept);
    memcpy(values, kept, sizeof kept);
    return (values[1] + values[3]) * x;
}
static double chosen(double x)
{
    double *p = where(x > 100);
    *p = x;
    return *p * x;
}
static void check(const char *what, double reverse, double forward, double wanted)
{
    expect(what, 0, reverse, wanted);
    expect(what, 1, forward, wanted);
}
#define CHECK(f, wanted) check(#f, __enzyme_autodiff((void *)f, 3.0), __enzyme_fwddiff((void *)f, 3.0, 1.0), wanted)
int main(void)
{
    CHECK(helpers, 9);
    CHECK(elements, 18);
    CHECK(in_struct, 3);
    CHECK(copied, 12);
    CHECK(chosen, 3);
    return failures();
}
