/* Two buffers that variables hold from before, and that functions exchange: arrays, blocks, rows, members. */
#include "selfcheck.h"
#define MOST 8
static double one[MOST], two[MOST], *now, *next; /* set in `main` */
static double rows[3][MOST], *levels[3] = {rows[0], rows[1], rows[2]};
static double *block, *other_block;
static struct {
    double *from, *to;
    long steps;
} grid;
static double *held[3];

static void diffuse(const double *u, double *v, int n, double k)
{
    for (int i = 0; i < n; i++)
        v[i] = u[i] + k * (u[(i + n - 1) % n] - 2 * u[i] + u[(i + 1) % n]) + 0.1 * u[i] * u[i];
}
static double energy(const double *u, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (i + 1) * u[i] * u[i];
    return sum;
}
static void exchange(double **a, double **b)
{
    double *t = *a;
    *a = *b, *b = t;
}
static double arrays(const double *x, int n)
{
    memcpy(now, x, n * sizeof *x);
    for (int s = 0; s < 3; s++, exchange(&now, &next))
        diffuse(now, next, n, 0.2);
    one[0] *= 2; /* which of the two it is, the calls before tell */
    two[0] *= 2;
    return energy(now, n);
}
static double leapfrog(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        levels[0][i] = x[i], levels[1][i] = x[i] * x[i];
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < n; i++)
            levels[2][i] = levels[0][i] + 0.1 * sin(levels[1][i]) * levels[1][(i + 1) % n];
        double *first = levels[0];
        levels[0] = levels[1], levels[1] = levels[2], levels[2] = first;
    }
    return energy(levels[1], n);
}
static double blocks(const double *x, int n)
{
    memcpy(block, x, n * sizeof *x);
    for (int s = 0; s < 3; s++, exchange(&block, &other_block))
        diffuse(block, other_block, n, 0.2);
    return energy(block, n) + energy(other_block, n);
}
static double replaced(const double *x, int n)
{
    memcpy(block, x, n * sizeof *x);
    for (int s = 0; s < 3; s++) {
        diffuse(block, other_block, n, 0.1);
        free(block);
        block = other_block;
        other_block = malloc(MOST * sizeof *other_block);
    }
    memset(other_block, 0, MOST * sizeof *other_block);
    return energy(block, n);
}
static double members(const double *x, int n)
{
    memcpy(grid.from, x, n * sizeof *x);
    for (int s = 0; s < 5; s++, grid.steps++, exchange(&grid.from, &grid.to))
        diffuse(grid.from, grid.to, n, 0.05);
    return energy(grid.from, n);
}
static double in_turn(const double *x, int n)
{
    memcpy(held[0], x, n * sizeof *x);
    for (int s = 0; s < 7; s++)
        diffuse(held[s % 3], held[(s + 1) % 3], n, 0.1);
    exchange(&held[0], &held[1]);
    return energy(held[0], n);
}
static double cursor(const double *x, int n)
{
    static double *base, *top; /* into one block */
    if (base == NULL)
        top = base = malloc(MOST * sizeof *base);
    top = base;
    for (int i = 0; i < n; i++) {
        *top++ = x[i] * x[i];
        if (i % 3 == 2)
            top--, top[-1] *= top[0];
    }
    double sum = 0;
    while (top-- > base + 1)
        sum = sum * 0.5 + *top;
    top++;
    return sum * *top;
}
static double rotated(const double *x, int n)
{
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i++)
            held[k][i] = x[i] * (k + 1);
    for (int s = 0; s < 5; s++) {
        for (int i = 0; i < n; i++)
            held[2][i] = held[1][i] + 0.1 * held[0][i] * held[1][(i + 1) % n];
        double *first = held[0];
        for (int k = 0; k < 2; k++)
            held[k] = held[k + 1];
        held[2] = first;
    }
    return energy(held[1], n);
}
static double *cleared(void) { return calloc(MOST, sizeof(double)); }
int main(void)
{
    now = one, next = two;
    block = cleared(), other_block = cleared();
    grid.from = cleared(), grid.to = cleared();
    for (int i = 0; i < 3; i++)
        held[i] = cleared();
    for (int again = 0; again < 3; again++) {
        CHECK_GRADIENT(arrays, 3);
        CHECK_GRADIENT(leapfrog, 5);
        CHECK_GRADIENT(blocks, 6);
        CHECK_GRADIENT(replaced, 3);
        CHECK_GRADIENT(members, 8);
        CHECK_GRADIENT(in_turn, 7);
        CHECK_GRADIENT(cursor, 8);
        CHECK_GRADIENT(rotated, 4);
        if (again == 1) {
            exchange(&now, &next);
            free(block);
            block = cleared();
        }
    }
    free(block), free(other_block), free(grid.from), free(grid.to);
    for (int i = 0; i < 3; i++)
        free(held[i]);
    return failures();
}
