/* Records with padding: sorted by a comparator, copied whole in memory that the function allocates. */
#include "selfcheck.h"

typedef struct {
    double key;
    int tag;
    double value;
} record;

static int by_key(const void *a, const void *b)
{
    double x = ((const record *)a)->key, y = ((const record *)b)->key;
    return x < y ? -1 : x > y;
}

static double ranked(const double *x, int n)
{
    record *r = malloc((size_t)n * sizeof *r), *kept = malloc((size_t)n * sizeof *kept);
    for (int i = 0; i < n; i++) {
        r[i].key = sin(3 * x[i]);
        r[i].tag = i;
        r[i].value = x[i] * x[i];
    }
    qsort(r, (size_t)n, sizeof *r, by_key);
    memcpy(kept, r, (size_t)n * sizeof *r);
    double s = 0;
    for (int i = 0; i < n; i++)
        s += (i + 1) * kept[i].key * kept[i].value + kept[i].tag * r[n - 1 - i].value;
    free(kept);
    free(r);
    return s;
}

int main(void)
{
    CHECK_GRADIENT(ranked, 6);
    return failures();
}
