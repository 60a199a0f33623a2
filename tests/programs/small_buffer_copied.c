/* Buffers in a struct for few numbers, on the heap for many: what copies them does not know which. */
#include "selfcheck.h"
typedef struct { double own[4]; double *data; int n; double weights[3]; } buffer;
static void fill(buffer *b, const double *x, int n)
{
    b->n = n;
    b->data = n <= 4 ? b->own : (double *)malloc(n * sizeof(double));
    memcpy(b->data, x, n * sizeof(double));
    for (int i = 0; i < 3; i++)
        b->weights[i] = x[i];
}
static void copy(buffer *to, const buffer *from)
{
    *to = *from;
    if (from->data == from->own)
        to->data = to->own;
    else {
        to->data = (double *)malloc(from->n * sizeof(double));
        memcpy(to->data, from->data, from->n * sizeof(double));
    }
}
/* a number of bytes of which nothing is known */
static void copy_halves(buffer *to, const buffer *from)
{
    *to = *from;
    to->data = from->data == from->own ? to->own : (double *)malloc(from->n * sizeof(double));
    memcpy(to->data, from->data, from->n * sizeof(double[2]) / 2);
}
static void release(buffer *b)
{
    if (b->data != b->own)
        free(b->data);
}
static double sum(const buffer *b)
{
    double s = 0;
    for (int j = 0; j < b->n; j++)
        s += b->data[j] * b->data[j] * (j + 1);
    return s * b->weights[1];
}
static double f(const double *x, int n)
{
    buffer a, b, c[2];
    fill(&a, x, 3);
    fill(&b, x, n);
    copy(&c[0], &a);
    copy(&c[1], &b);
    double s = 0;
    for (int i = 0; i < 2; i++)
        s += sum(&c[i]) * (i + 1);
    release(&a);
    release(&b);
    release(&c[0]);
    release(&c[1]);
    return s;
}
static double g(const double *x, int n)
{
    buffer a, b, c[2];
    fill(&a, x, 2);
    fill(&b, x, n);
    copy_halves(&c[0], &a);
    copy_halves(&c[1], &b);
    c[0].data[1] *= c[1].data[n - 1];
    double s = 0;
    for (int i = 0; i < 2; i++)
        s += sum(&c[i]) * (i + 1);
    release(&a);
    release(&b);
    release(&c[0]);
    release(&c[1]);
    return s;
}
/* the first by itself, and pointers behind the struct's array */
typedef struct { int n; double *data, own[4]; char *names[3]; } named;
static void copy_named(named *to, const named *from)
{
    *to = *from;
    to->data = from->data == from->own ? to->own : (double *)malloc(from->n * sizeof(double));
    to->data[0] = from->data[0];
    memcpy(to->data + 1, from->data + 1, (from->n - 1) * sizeof(double));
}
static double h(const double *x, int n)
{
    named a[2], b[2];
    double s = 0;
    for (int k = 0; k < 2; k++) {
        a[k].n = k ? n : 3;
        a[k].data = k ? (double *)malloc(n * sizeof(double)) : a[k].own;
        memcpy(a[k].data, x, a[k].n * sizeof(double));
        copy_named(&b[k], &a[k]);
        for (int j = 0; j < b[k].n; j++)
            s += b[k].data[j] * a[k].data[j] * (j + 1);
        if (k) {
            free(a[k].data);
            free(b[k].data);
        }
    }
    return s;
}
int main(void)
{
    CHECK_EVERY_WAY(f, 7);
    CHECK_EVERY_WAY(f, 4);
    CHECK_EVERY_WAY(g, 6);
    CHECK_EVERY_WAY(h, 7);
    return failures();
}
