/* Recursive functions, alone and in pairs, that one derivative calls with constant memory here and active memory there. */
#include "selfcheck.h"
struct node { double value; struct node *left, *right; };
static int used;
static struct node *grow(struct node *nodes, int depth)
{
    struct node *t = &nodes[used++];
    t->left = depth ? grow(nodes, depth - 1) : 0;
    t->right = depth > 1 ? grow(nodes, depth - 2) : 0;
    return t;
}
static double norm(const struct node *t)
{
    return t ? t->value * t->value + 0.5 * norm(t->left) + norm(t->right) : 0;
}
static double matched(const struct node *a, const struct node *b)
{
    return a && b ? a->value * b->value + matched(a->left, b->right) * matched(a->right, b->left) : 1;
}
static double odd(const double *p, int n);
static double even(const double *p, int n) { return n ? p[0] * p[0] + odd(p + 1, n - 1) : 0; }
static double odd(const double *p, int n) { return n ? sin(p[0]) * even(p + 1, n - 1) : 0; }
static const double *largest(const double *p, int n)
{
    const double *rest = n > 1 ? largest(p + 1, n - 1) : p;
    return *rest > *p ? rest : p;
}
static void scale(double *to, const double *from, int n)
{
    if (n) {
        *to = *from * (1 + n);
        scale(to + 1, from + 1, n - 1);
    }
}
static double f(const double *x, const struct node *t, const double *w, const struct node *c, int n)
{
    double scratch[6], more[6];
    scale(scratch, w, n);
    scale(more, x, n);
    double sum = norm(t) * norm(c) + matched(t, c) + matched(c, t) + matched(c, c) * matched(t, t);
    sum += even(x, n) * odd(w, n) + odd(x, n) * even(w, n) + *largest(x, n) * *largest(w, n);
    return sum + scratch[2] * more[3];
}
int main(void)
{
    enum { N = 6 };
    double x[N], w[N], dx[N] = {0};
    struct node active[9] = {{0}}, constant[9] = {{0}}, adjoint[9] = {{0}};
    sample(x, N);
    sample(w, N);
    used = 0;
    struct node *t = grow(active, 3);
    used = 0;
    grow(adjoint, 3);
    used = 0;
    struct node *c = grow(constant, 3);
    int nodes = used;
    for (int i = 0; i < nodes; i++)
        active[i].value = 0.3 + 0.1 * i, constant[i].value = 1 - 0.2 * i;
    __enzyme_autodiff((void *)f, enzyme_dup, x, dx, enzyme_dup, t, adjoint, enzyme_const, w, enzyme_const, c, enzyme_const, N);
    for (int i = 0; i < N + nodes; i++) {
        double *p = i < N ? &x[i] : &active[i - N].value, kept = *p, v[4];
        for (int k = 0; k < 4; k++) {
            *p = kept + stencil_steps[k] * 1e-3;
            v[k] = f(x, t, w, c, N);
        }
        *p = kept;
        expect("f", i, i < N ? dx[i] : adjoint[i - N].value, stencil(v, 1e-3));
    }
    return failures();
}
