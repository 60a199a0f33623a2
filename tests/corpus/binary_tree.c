// A search tree on the heap, built by insertion and folded by recursion.
#include <stdlib.h>
struct tree { struct tree *left, *right; double value; };
static struct tree *insert(struct tree *t, double v) {
    if (!t) {
        t = malloc(sizeof *t);
        t->left = t->right = NULL;
        t->value = v;
    } else if (v < t->value) t->left = insert(t->left, v);
    else t->right = insert(t->right, v);
    return t;
}
static double fold(struct tree *t) {
    if (!t) return 1;
    double s = fold(t->left) * t->value + 0.5 * fold(t->right);
    free(t);
    return s;
}
double binary_tree(double *x, int n) {
    struct tree *t = NULL;
    for (int i = 0; i < n; i++) t = insert(t, x[i]);
    return fold(t);
}
