/* Functions that a switch chooses, which LLVM would make a table of; addresses within numbers and within structs. */
#include <math.h>
#include <stdint.h>
#include "selfcheck.h"

typedef double (*function)(double);

static double square(double v) { return v * v; }
static double cube(double v) { return v * v * v; }
static double wave(double v) { return sin(v); }
static double growth(double v) { return exp(v / 4); }

static function active;
static uintptr_t number;
static struct { function first, second; } pair;

static function pick(int k) {
    switch (k) {
    case 0: return square;
    case 1: return cube;
    case 2: return wave;
    case 3: return growth;
    default: return 0;
    }
}

static double chosen(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        function p = pick(i & 3);
        s += p == active ? 2 * x[i] : active == square ? p(x[i]) : active(x[i]) * x[i];
    }
    return s;
}

static double as_number(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += number - (uintptr_t)wave < 1 ? wave(x[i]) : cube(x[i]) * number / number;
    return s;
}

static double in_pair(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        if (pair.first == square && pair.second == cube) { pair.first = cube; pair.second = wave; }
        s += pair.first == cube ? x[i] * x[i] * x[i] * x[i] : pair.second(x[i]);
    }
    return s;
}

int main(void) {
    active = square;
    CHECK_GRADIENT(chosen, 6);
    active = wave;
    CHECK_GRADIENT(chosen, 6);
    number = (uintptr_t)wave;
    CHECK_GRADIENT(as_number, 3);
    number = (uintptr_t)growth;
    CHECK_GRADIENT(as_number, 3);
    pair.first = square, pair.second = cube;
    CHECK_GRADIENT(in_pair, 4);
    return failures();
}
