// A list that never has two elements: the pointer to the next one is null, wherever it is read.
#include <math.h>
#include <stdlib.h>
struct node { double v; struct node *next; };
static __attribute__((noinline)) struct node *cons(double v, struct node *next) {
    struct node *made = malloc(sizeof *made);
    *made = (struct node){v, next};
    return made;
}
double list_of_one(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        struct node *list = cons(cos(x[i]), NULL);
        for (struct node *o = list; o; o = o->next) {
            s += o->v * x[i];
            if (o->next) o->next->v += o->v;
        }
        free(list);
    }
    return s;
}
