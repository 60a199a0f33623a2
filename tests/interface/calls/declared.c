/* What a program says about functions and globals. */
#include "check.h"

/* bits of a float: refused, if its body counted */
static double my_exp(double x) {
    long b;
    double y = exp(x);
    memcpy(&b, &y, 8);
    b ^= 1;
    memcpy(&y, &b, 8);
    return y;
}
void *__enzyme_function_like_exp[] = {(void *)my_exp, (void *)"exp"};

static double my_pow(double x, double y) { return x * x * x + 0 * y; }
void *__enzyme_function_like[] = {(void *)my_pow, "pow"};

static double logged, scale = 2;
static int calls;
static double log_value(double x) { calls++; logged += x; return x * x; }
void *__enzyme_inactivefn[] = {(void *)log_value};

__attribute__((annotate("enzyme_inactive"))) static double seven(double x) { calls++; return 7 * x; }

static double cache[4];
double *__enzyme_inactive_global_cache = cache;

static double table[2] = {3, 5}, d_table[2];
void *__enzyme_shadow_global[] = {&table, &d_table};

static void nothing_freed(double *x) { *x += 1; }
void *__enzyme_nofree[] = {(void *)nothing_freed};
static double *fresh(void) { return malloc(8); }
void *__enzyme_no_escaping_allocation[] = {(void *)fresh};

static double f(double x) { return my_exp(x) * x; }
static double g(double x, double y) { return my_pow(x, y); }
static double h(double x) { return log_value(x) * x + seven(x) * scale; }
static volatile int one = 1;
static double cached(double x) { cache[one] = x * x; return cache[one] * x; }
static double tabled(double x) { return table[0] * x + table[1] * x * x; }
static double plain(double x) { nothing_freed(&x); double *p = fresh(); *p = x; x = *p * *p; free(p); return x; }

int main(void) {
    CHECK(__enzyme_autodiff((void *)f, 1.5), exp(1.5) * 2.5);
    CHECK(__enzyme_fwddiff((void *)f, 1.5, 2.0), exp(1.5) * 5);
    two t = __enzyme_autodiff_two((void *)g, 2.0, 3.0);
    CHECK(t.a, 12);
    CHECK(t.b, 8 * log(2));
    CHECK(__enzyme_autodiff((void *)h, 3.0), 9);
    CHECK(__enzyme_fwddiff((void *)h, 3.0, 1.0), 9);
    CHECK(calls, 4);
    CHECK(logged, 6);
    CHECK(__enzyme_autodiff((void *)cached, 3.0), 9);
    CHECK(__enzyme_fwddiff((void *)cached, 3.0, 1.0), 9);
    CHECK(__enzyme_autodiff((void *)tabled, 3.0), 3 + 30);
    CHECK(d_table[0], 3);
    CHECK(d_table[1], 9);
    CHECK(__enzyme_autodiff((void *)tabled, 3.0), 3 + 30);
    CHECK(d_table[0], 6);
    d_table[0] = 1, d_table[1] = 0;
    CHECK(__enzyme_fwddiff((void *)tabled, 3.0, 1.0), 3 + 30 + 3);
    CHECK(__enzyme_autodiff((void *)plain, 3.0), 8);
    return failures;
}
