/* Chained buckets: integers, pointers and doubles in one struct. */
#include "selfcheck.h"
struct entry { int key; struct entry *next; double value; };
static double f(const double *x, int n)
{
    struct entry *buckets[4] = {0}, pool[12];
    int used = 0;
    for (int i = 0; i < n; i++) {
        int key = (7 * i + 3) % 10, slot = key % 4;
        struct entry *e = buckets[slot];
        while (e && e->key != key)
            e = e->next;
        if (!e) {
            e = &pool[used++];
            e->key = key, e->value = 0, e->next = buckets[slot];
            buckets[slot] = e;
        }
        e->value += x[i] * x[i];
    }
    double product = 1;
    for (int s = 0; s < 4; s++)
        for (struct entry *e = buckets[s]; e; e = e->next)
            product *= 1 + e->value / (e->key + 1);
    return product;
}
int main(void) { CHECK_GRADIENT(f, 8); return failures(); }
