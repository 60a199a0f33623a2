/* Buffers that static variables keep from one call to the next, and that grow when they are too small. */
#include "selfcheck.h"
static double *buffer(int n)
{
    static double *memory;
    static int room;
    if (n > room) {
        memory = realloc(memory, n * sizeof *memory);
        room = n;
    }
    return memory;
}
static double around(const double *x, int n)
{
    double *squares = buffer(n), sum = 0;
    for (int i = 0; i < n; i++)
        squares[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += squares[i] * sin(squares[(i + 1) % n]);
    return sum;
}
static double stack(const double *x, int n)
{
    static double *values;
    static int room;
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (count == room) { /* several times a call */
            double *larger = malloc((2 * room + 1) * sizeof *larger);
            for (int k = 0; k < count; k++)
                larger[k] = values[k];
            free(values);
            values = larger;
            room = 2 * room + 1;
        }
        values[count++] = exp(x[i] / 2);
        if (i % 3 == 2)
            values[count - 2] *= values[count - 1], count--;
    }
    while (count)
        sum = sum / 2 + values[--count] * x[count];
    return sum;
}
static double table(const double *x, int n)
{
    static int *order; /* numbers only */
    static double *sorted;
    if (order == NULL) {
        order = calloc(16, sizeof *order);
        sorted = calloc(16, sizeof *sorted);
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        order[i] = (i * 5 + 3) % n;
    for (int i = 0; i < n; i++)
        sorted[order[i]] = x[i] * (i + 1);
    for (int i = 0; i < n; i++)
        sum += sorted[i] * sorted[(i + 2) % n] / (i + 1);
    return sum;
}
static double pair(const double *x, int n)
{
    static double *a, *b; /* LLVM calls flags of its own `.b` */
    static int room;
    if (n > room) {
        a = realloc(a, n * sizeof *a);
        b = realloc(b, n * sizeof *b);
        room = n;
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        a[i] = x[i] * x[i], b[i] = sin(x[n - 1 - i]);
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i] * (i + 1);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(pair, 3);
    CHECK_GRADIENT(around, 3);
    CHECK_GRADIENT(stack, 3);
    CHECK_GRADIENT(table, 3);
    CHECK_GRADIENT(around, 5);
    CHECK_GRADIENT(stack, 5);
    CHECK_GRADIENT(table, 5);
    CHECK_GRADIENT(around, 8);
    CHECK_GRADIENT(stack, 8);
    CHECK_GRADIENT(table, 8);
    CHECK_GRADIENT(pair, 8);
    return failures();
}
