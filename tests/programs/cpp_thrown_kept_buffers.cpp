// A derivative that is left by a throw releases the shadows of the buffers that static variables keep.
#include "selfcheck.h"

#include <malloc.h>
#include <stdexcept>
#include <utility>
#include <vector>

static void look(double x)
{
    if (x < 0)
        throw std::runtime_error("negative");
}

static double *work;
static int room;

__attribute__((noinline)) static double grows(const double *x, int n)
{
    if (n > room)
        work = (double *)realloc(work, (room = n) * sizeof *work);
    double s = 0;
    for (int i = 0; i < n; i++)
        work[i] = x[i] * x[i];
    for (int i = 0; i < n; i++) {
        look(x[i]);
        s += work[i] * work[(i + 1) % n];
    }
    return s;
}

static double *one, *two;
static int both;

__attribute__((noinline)) static double exchanged(const double *x, int n)
{
    if (n > both) {
        free(one), free(two);
        one = (double *)malloc(n * sizeof *one), two = (double *)malloc(n * sizeof *two);
        both = n;
    }
    for (int i = 0; i < n; i++)
        one[i] = x[i] * x[i];
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < n; i++)
            two[i] = one[i] * one[(i + 1) % n];
        look(x[n - 1]);
        std::swap(one, two);
    }
    return one[0] + 2 * one[n - 1];
}

static std::vector<double> kept;

__attribute__((noinline)) static double vector(const double *x, int n)
{
    kept.resize(n);
    for (int i = 0; i < n; i++)
        kept[i] = x[i] * x[i];
    double s = 0;
    for (int i = 0; i < n; i++) {
        look(x[i]);
        s += kept[i] * kept[(i + 1) % n];
    }
    return s;
}

static double *passing;

// What is released on the way is the arena's to release: once.
__attribute__((noinline)) static double in_passing(const double *x, int n)
{
    free(passing);
    passing = (double *)malloc(n * sizeof *passing);
    for (int i = 0; i < n; i++)
        passing[i] = x[i] * x[i];
    look(x[n - 1]);
    double s = 0;
    for (int i = 0; i < n; i++)
        s += passing[i] * passing[(i + 1) % n];
    free(passing);
    passing = nullptr;
    return s;
}

template <class F> static void check(const char *name, F f)
{
    static double x[1000], seed[1000], other[1000];
    sample(x, 1000), sample(seed, 1000);
    for (int i = 0; i < 1000; i++)
        other[i] = 1 - seed[i];
    double d[1000] = {}, e[1000] = {};
    long used = 0;
    for (int k = 0; k < 72; k++) {
        x[999] = -x[999];
        try {
            switch (k / 2 % 3) {
            case 0: __enzyme_autodiff_void((void *)+f, enzyme_dup, x, d, enzyme_const, 1000); break;
            case 1: __enzyme_autodiff_void((void *)+f, enzyme_width, 2, enzyme_dup, x, d, e, enzyme_const, 1000); break;
            case 2: __enzyme_fwddiff_void((void *)+f, enzyme_dup, x, seed, enzyme_const, 1000); break;
            }
            expect(name, k, x[999] > 0, 1);
        } catch (std::runtime_error &) {
            expect(name, k, x[999] < 0, 1);
        }
        if (k == 11)
            used = mallinfo2().uordblks;
    }
    expect_within(name, 100, (mallinfo2().uordblks - used) / 20000, 0, 0.5);
    clear(d, 1000);
    __enzyme_autodiff_void((void *)+f, enzyme_dup, x, d, enzyme_const, 1000);
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += d[i] * seed[i];
    expect(name, 101, __enzyme_fwddiff((void *)+f, enzyme_dup, x, seed, enzyme_const, 1000), sum);
}

int main()
{
    check("grows", grows);
    check("exchanged", exchanged);
    check("vector", vector);
    check("in passing", in_passing);
    return failures();
}
