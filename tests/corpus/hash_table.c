// Chained buckets on the heap.
#include <stdlib.h>
struct entry { int key; double value; struct entry *next; };
double hash_table(double *x, int n) {
    struct entry *bucket[3] = {0};
    double s = 0;
    for (int i = 0; i < 2 * n; i++) {
        int key = (i * 7) % 5;
        struct entry *e = bucket[key % 3];
        while (e && e->key != key) e = e->next;
        if (!e) {
            e = malloc(sizeof *e);
            e->key = key;
            e->value = 0.1;
            e->next = bucket[key % 3];
            bucket[key % 3] = e;
        }
        e->value += x[i % n] * (e->value + 0.5);
    }
    for (int b = 0; b < 3; b++)
        while (bucket[b]) {
            struct entry *e = bucket[b];
            s += e->value * e->value * (e->key + 1);
            bucket[b] = e->next;
            free(e);
        }
    return s;
}
