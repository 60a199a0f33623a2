/* Heaps over `void *`, with an order that is a function: of structs with a double, a number and a pointer, of doubles;
 * and a vector of integers. `char *`, to which all are cast to be walked, says nothing of what is there. */
#include "selfcheck.h"
struct vector { void *data; size_t size, count, room; };
typedef int (*less)(const void *, const void *);
static void push(struct vector *v, const void *element)
{
    if (v->count == v->room) {
        v->room = v->room ? v->room * 2 : 4;
        v->data = realloc(v->data, v->room * v->size);
    }
    memcpy((char *)v->data + v->count++ * v->size, element, v->size);
}
static void *at(const struct vector *v, size_t i) { return (char *)v->data + i * v->size; }
static void swap(struct vector *v, size_t a, size_t b)
{
    char kept[64];
    memcpy(kept, at(v, a), v->size);
    memcpy(at(v, a), at(v, b), v->size);
    memcpy(at(v, b), kept, v->size);
}
static void add(struct vector *v, const void *element, less before)
{
    push(v, element);
    for (size_t i = v->count - 1; i && before(at(v, i), at(v, (i - 1) / 2)); i = (i - 1) / 2)
        swap(v, i, (i - 1) / 2);
}
static void take(struct vector *v, void *out, less before)
{
    memcpy(out, v->data, v->size);
    swap(v, 0, --v->count);
    for (size_t i = 0, c; (c = 2 * i + 1) < v->count; i = c) {
        if (c + 1 < v->count && before(at(v, c + 1), at(v, c)))
            c++;
        if (!before(at(v, c), at(v, i)))
            break;
        swap(v, i, c);
    }
}
struct job { double due; int number; double *cell; };
static int job_before(const void *a, const void *b)
{
    return ((const struct job *)a)->due < ((const struct job *)b)->due;
}
static int smaller(const void *a, const void *b) { return *(const double *)a < *(const double *)b; }
static double f(const double *x, int n)
{
    double cells[4] = {0}, sum = 0;
    struct vector jobs = {NULL, sizeof(struct job)}, numbers = {NULL, sizeof(double)}, order = {NULL, sizeof(int)};
    for (int i = 0; i < 2 * n; i++) {
        struct job job = {x[i % n] * (i + 1), i, &cells[i % 4]};
        double number = x[i % n] + i * 0.01;
        add(&jobs, &job, job_before);
        add(&numbers, &number, smaller);
        push(&order, &i);
    }
    while (jobs.count) {
        struct job job;
        double number;
        take(&jobs, &job, job_before);
        take(&numbers, &number, smaller);
        *job.cell += job.due * number;
        sum += *job.cell * (job.number + ((int *)order.data)[--order.count]);
    }
    free(jobs.data), free(numbers.data), free(order.data);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(f, 3);
    return failures();
}
