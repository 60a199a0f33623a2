// Positive doubles are sorted by their bits, as integers, in unions and in an array that is reused for integers before.
#include "selfcheck.h"

typedef union {
    double value;
    long key;
} cell;

__attribute__((noinline)) static void sort(cell *c, int n) {
    for (int i = 1; i < n; i++) {
        cell now = c[i];
        int j = i - 1;
        for (; j >= 0 && c[j].key > now.key; j--) c[j + 1] = c[j];
        c[j + 1] = now;
    }
}

__attribute__((noinline)) static long count(const double *x, long *work, int n) {
    long found = 0;
    for (int i = 0; i < n; i++) work[i] = 3 * (x[i] > 0.2);
    for (int i = 0; i < n; i++) found += work[i];
    return found;
}

__attribute__((noinline)) static double weighted(const double *x, double *work, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) work[i] = x[i] * x[i] * x[i];
    for (int i = 0; i < n; i++) sum += work[i] * (i + 1);
    return sum;
}

static double f(const double *x, int n) {
    cell *c = malloc(n * sizeof *c);
    for (int i = 0; i < n; i++) c[i].value = 1 + x[i] * x[i];
    sort(c, n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += c[i].value * (i + 1);
    free(c);
    void *work = malloc(n * sizeof(double));
    for (int k = 0; k < 2; k++) sum += count(x, work, n) * weighted(x, work, n);
    free(work);
    return sum;
}

int main(void) {
    CHECK_GRADIENT(f, 7);
    return failures();
}
