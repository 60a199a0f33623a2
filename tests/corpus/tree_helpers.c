// A search tree, built, walked and freed by recursive functions.
#include <stdlib.h>
struct node { struct node *left, *right; double key, value; int count; };
static struct node *insert(struct node *t, double key, double value) {
    if (!t) {
        t = calloc(1, sizeof *t);
        t->key = key;
        t->value = value;
        t->count = 1;
        return t;
    }
    if (key < t->key) t->left = insert(t->left, key, value * t->value);
    else t->right = insert(t->right, key, value + t->key);
    t->count++;
    return t;
}
static double walk(const struct node *t, double up) {
    return t ? walk(t->left, up * t->value) + t->key * t->count + walk(t->right, up + t->key) : up;
}
static void drop(struct node *t) {
    if (!t) return;
    drop(t->left);
    drop(t->right);
    free(t);
}
double tree_helpers(double *x, int n) {
    struct node *t = 0;
    for (int i = 0; i < n; i++) t = insert(t, x[(i * 5) % n], x[i]);
    double s = walk(t, 1);
    drop(t);
    return s;
}
