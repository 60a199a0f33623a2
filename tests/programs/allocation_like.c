/* Memory from allocators of the program's own, which clear nothing and count what they gave. */
#include "selfcheck.h"
static int given;
static void *get(int tag, size_t bytes)
{
    given += tag;
    void *p = malloc(bytes);
    memset(p, 0x7f, bytes);
    return p;
}
static void release(void *p)
{
    given -= 5;
    free(p);
}
void *__enzyme_allocation_like_get[] = {(void *)get, (void *)1, (void *)"-1", (void *)release};
typedef struct node { double value; struct node *next; } node;
static double f(const double *x, int n)
{
    node *list = 0;
    for (int i = 0; i < n; i++) {
        node *made = (node *)get(5, sizeof(node));
        made->value = x[i] * x[i];
        made->next = list;
        list = made;
    }
    double *sums = (double *)get(5, n * sizeof(double)), last = 1;
    for (int i = 0; i < n; i++) {
        node *next = list->next;
        last = sums[i] = last * sin(list->value);
        release(list);
        list = next;
    }
    last += sums[0];
    release(sums);
    return last;
}
int main(void)
{
    CHECK_GRADIENT(f, 3);
    expect("all released", 0, given, 0);
    return failures();
}
