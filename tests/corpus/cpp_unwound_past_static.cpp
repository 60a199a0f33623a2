// What a handler passes on is an exception, never memory of the program's: a static array has its shadow all the same.
#include <cmath>

static __attribute__((noinline)) int checked(int k) {
    if (k > 7) throw k;
    return k % 4;
}

struct Restored {
    double *place, value;
    ~Restored() { *place = value; }
};

extern "C" double cpp_unwound_past_static(const double *x, double *y, int n) {
    static double memory[4];
    for (int i = 0; i < 4; i++) memory[i] = 0.2 * i - x[i] * x[i + 1];
    double sum = 0;
    for (int i = 0; i < n; i++) {
        Restored restored{&memory[i % 4], memory[i % 4] * x[0]};
        memory[i % 4] += std::sin(x[i]);
        sum += memory[checked(i)] * x[i];
    }
    y[1] += memory[2];
    return sum;
}
