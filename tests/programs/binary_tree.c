/* A search tree: the shape depends on the data, the sum runs over it recursively. */
#include "selfcheck.h"
struct tree { double key; struct tree *left, *right; };
static struct tree *insert(struct tree *t, double key)
{
    if (!t) {
        t = (struct tree *)calloc(1, sizeof *t);
        t->key = key;
    } else if (key < t->key)
        t->left = insert(t->left, key);
    else
        t->right = insert(t->right, key);
    return t;
}
static double fold(const struct tree *t, int depth)
{
    return t ? t->key * t->key / depth + fold(t->left, depth + 1) - fold(t->right, depth + 1) : 0;
}
static void drop(struct tree *t)
{
    if (t) { drop(t->left); drop(t->right); free(t); }
}
static double f(const double *x, int n)
{
    struct tree *t = 0;
    for (int i = 0; i < n; i++)
        t = insert(t, x[i]);
    double sum = fold(t, 1);
    drop(t);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 7); return failures(); }
