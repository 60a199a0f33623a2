// A small library as people write them: structs with sizes and a heap pointer, returned and passed by value.
// x: 12
#include <stdlib.h>
struct matrix { int rows, columns; double *data; };
static __attribute__((noinline)) struct matrix make(int rows, int columns) {
    struct matrix m = {rows, columns, calloc(rows * columns, sizeof(double))};
    return m;
}
static __attribute__((noinline)) struct matrix multiply(struct matrix a, struct matrix b) {
    struct matrix c = make(a.rows, b.columns);
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < b.columns; j++)
            for (int k = 0; k < a.columns; k++)
                c.data[i * c.columns + j] += a.data[i * a.columns + k] * b.data[k * b.columns + j];
    return c;
}
static void drop(struct matrix *m) {
    free(m->data);
    m->data = NULL;
}
double matrix_library(double *x, int n) {
    struct matrix a = {2, 3, x}, b = {3, 2, x + 6};
    struct matrix c = multiply(a, b), d = multiply(c, c);
    double s = d.data[0] * d.data[3] + d.data[1];
    drop(&c);
    drop(&d);
    return s;
}
