/* The same memory holds pointers at one time, floats at another: in a buffer, a union, and an arena that is reset. */
#include "selfcheck.h"
struct arena { char *base; size_t used; };
static void *take(struct arena *a, size_t bytes)
{
    void *p = a->base + a->used;
    a->used += bytes;
    return p;
}
static double buffer(const double *x, int n)
{
    double sum = 0;
    void *m = malloc(8);
    for (int k = 0; k < n; k++) {
        *(const double **)m = x + k;
        double t = **(const double **)m;
        ((float *)m)[0] = 2;
        ((float *)m)[1] = (float)k;
        sum += t * t * ((float *)m)[0] + ((float *)m)[1];
        *(double *)m = t * x[0];
        sum += *(double *)m * t;
    }
    free(m);
    return sum;
}
static double single(const float *x)
{
    float a[3], sum = 0;
    for (int i = 0; i < 3; i++)
        a[i] = x[i];
    void *m = malloc(8);
    for (int k = 0; k < 3; k++) {
        *(float **)m = a + k;
        float *p = *(float **)m, t = *p * *p;
        ((float *)m)[0] = t * 2;
        ((float *)m)[1] = t + 1;
        sum += ((float *)m)[0] * ((float *)m)[1];
    }
    free(m);
    return sum;
}
static double reset(const double *x, int n)
{
    struct arena a = {(char *)malloc(4096), 0};
    double sum = 0;
    for (int round = 0; round < 3; round++) {
        a.used = 0;
        const double **p = (const double **)take(&a, (size_t)n * sizeof *p);
        for (int i = 0; i < n; i++)
            p[i] = x + (i + round) % n;
        for (int i = 0; i < n; i++)
            sum += *p[i] * *p[0];
        a.used = 8;
        float *v = (float *)take(&a, 2 * (size_t)n * sizeof *v);
        for (int i = 0; i < n; i++) {
            v[2 * i] = i;
            v[2 * i + 1] = round;
        }
        a.used = 4;
        float *w = (float *)take(&a, (size_t)n * sizeof *w);
        for (int i = 0; i < n; i++)
            sum += x[i] * w[i + 1];
    }
    free(a.base);
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(buffer, 4);
    CHECK_GRADIENT(reset, 4);
    float x[3] = {0.5f, 1.25f, -0.75f}, d[3] = {0};
    __enzyme_autodiff_void((void *)single, enzyme_dup, x, d);
    for (int i = 0; i < 3; i++)
        expect_within("single", i, d[i], (4 * x[i] * x[i] + 2) * 2 * x[i], 1e-6);
    return failures();
}
