/* Vectors of anything over `void *`, which copy elements of a size that only the vector knows: of doubles, of integers,
 * of structs that are swapped through a buffer of characters (one is walked from its start, so it has no header), and
 * of vectors. */
#include "selfcheck.h"
struct vector { void *data; size_t count, room, size; };
static struct vector made(size_t size) { return (struct vector){NULL, 0, 0, size}; }
static void push(struct vector *v, const void *element)
{
    if (v->count == v->room) {
        v->room = v->room ? v->room * 2 : 2;
        v->data = realloc(v->data, v->room * v->size);
    }
    memcpy((char *)v->data + v->count++ * v->size, element, v->size);
}
static void *at(const struct vector *v, size_t i) { return (char *)v->data + i * v->size; }
static void get(const struct vector *v, size_t i, void *out) { memcpy(out, at(v, i), v->size); }
static void swap(struct vector *v, size_t i, size_t j)
{
    unsigned char kept[64];
    memcpy(kept, at(v, i), v->size);
    memcpy(at(v, i), at(v, j), v->size);
    memcpy(at(v, j), kept, v->size);
}
static void reverse(struct vector *v)
{
    for (size_t i = 0, j = v->count - 1; i < j; i++, j--)
        swap(v, i, j);
}
struct point { double x; int number; double y; };
static double f(const double *x, int n)
{
    struct vector squares = made(sizeof(double)), order = made(sizeof(int)), points = made(sizeof(struct point));
    struct vector rows = made(sizeof(struct vector));
    for (int i = 0; i < n; i++) {
        double square = x[i] * x[i];
        int q = (i * 3) % n;
        struct point p = {x[i], i, square};
        push(&squares, &square);
        push(&order, &q);
        push(&points, &p);
        struct vector row = made(sizeof(double));
        for (int j = 0; j <= i; j++) {
            double r = x[i] * (j + 1);
            push(&row, &r);
        }
        push(&rows, &row);
    }
    reverse(&squares);
    reverse(&points);
    double sum = 0;
    for (size_t i = 0; i < squares.count; i++) {
        int q;
        struct point p;
        get(&order, i, &q);
        get(&points, i, &p);
        sum += *(double *)at(&squares, q) * p.x + p.y * (p.number + 1);
        struct vector *row = at(&rows, i);
        for (size_t j = 0; j < row->count; j++)
            sum += *(double *)at(row, j) * p.x;
        free(row->data);
    }
    free(squares.data);
    free(order.data);
    free(points.data);
    free(rows.data);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
