/* Arrays behind headers, of which a part is copied over another part: what lies before does not repeat. */
#include "selfcheck.h"
struct header { size_t length, capacity; };
#define header_of(a) ((struct header *)(a) - 1)
static double shortened(const double *x, int n)
{
    struct header *h = malloc(sizeof *h + n * sizeof(double));
    double *a = (double *)(h + 1), sum = 0;
    h->length = 0;
    h->capacity = n;
    for (int i = 0; i < n; i++)
        a[header_of(a)->length++] = x[i];
    memcpy(&a[1], &a[4], sizeof *a * (header_of(a)->length - 4));
    header_of(a)->length--;
    for (int i = 0; i < (int)header_of(a)->length; i++)
        sum += a[i] * a[i];
    free(h);
    return sum;
}
struct queue { int count, popped; struct { double value; int weight; } at[]; };
static double pop(struct queue *q)
{
    double value = q->at[0].value * q->at[0].weight;
    memmove(q->at, q->at + 1, --q->count * sizeof q->at[0]);
    q->popped++;
    return value;
}
static void push_front(struct queue *q, double value, int weight)
{
    memmove(&q->at[1], &q->at[0], q->count++ * sizeof q->at[0]);
    q->at[0].value = value;
    q->at[0].weight = weight;
}
static double queued(const double *x, int n)
{
    struct queue *q = malloc(sizeof *q + (n + 2) * sizeof q->at[0]);
    q->count = q->popped = 0;
    for (int i = 0; i < n; i++)
        push_front(q, x[i] * x[i], i + 1);
    double sum = pop(q);
    push_front(q, x[0] * x[1], 5);
    while (q->count)
        sum += pop(q) * (q->popped + 1);
    free(q);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(shortened, 7);
    CHECK_GRADIENT(queued, 5);
    return failures();
}
