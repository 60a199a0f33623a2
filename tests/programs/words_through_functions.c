/* Words of a union, a double or a pointer, that functions which are no part of their callers take and return as one. */
#include "selfcheck.h"
typedef union { double d; const double *p; } word;
__attribute__((noinline)) static void put_pointer(word *a, int i, const double *p) { a[i].p = p; }
__attribute__((noinline)) static void put_double(word *a, int i, double d) { a[i].d = d; }
__attribute__((noinline)) static const double *get_pointer(const word *a, int i) { return a[i].p; }
__attribute__((noinline)) static double get_double(const word *a, int i) { return a[i].d; }

static void fill(word *a, int *is_pointer, const double *x) {
    for (int i = 0; i < 5; i++) {
        is_pointer[i] = i % 2;
        if (i % 2) put_pointer(a, i, &x[i]);
        else put_double(a, i, x[i] * 2);
    }
}

static double sum(const word *a, const int *is_pointer) {
    double s = 0;
    for (int i = 0; i < 5; i++) {
        double v = is_pointer[i] ? *get_pointer(a, i) : get_double(a, i);
        s += (i + 1) * v * v;
    }
    return s;
}

static void exchange(int *is_pointer, int i) {
    int other = is_pointer[i];
    is_pointer[i] = is_pointer[i + 1];
    is_pointer[i + 1] = other;
}

static double moved_as_doubles(const double *x, int n) {
    (void)n;
    word a[5];
    int is_pointer[5];
    fill(a, is_pointer, x);
    for (int i = 0; i < 4; i++) {
        double first = get_double(a, i);
        put_double(a, i, get_double(a, i + 1));
        put_double(a, i + 1, first);
        exchange(is_pointer, i);
    }
    return sum(a, is_pointer);
}

static double moved_as_pointers(const double *x, int n) {
    (void)n;
    word a[5];
    int is_pointer[5];
    fill(a, is_pointer, x);
    for (int i = 0; i < 4; i++) {
        const double *first = get_pointer(a, i);
        put_pointer(a, i, get_pointer(a, i + 1));
        put_pointer(a, i + 1, first);
        exchange(is_pointer, i);
    }
    return sum(a, is_pointer);
}

int main(void) {
    CHECK_GRADIENT(moved_as_doubles, 5);
    CHECK_GRADIENT(moved_as_pointers, 5);
    return failures();
}
