/* Sizes of constant memory that are counted into a small array of a struct which holds pointers, too. */
#include "selfcheck.h"
typedef struct { long size[2]; const double *data; } Matrix;
typedef struct { double *result; const double *left, *right; long size[2], stride[2]; } Job;

__attribute__((noinline)) static void plan(Job *job, const Matrix *left, const Matrix *right, const int *summed, double *result)
{
    long found[2][2];
    memcpy(found[0], left->size, sizeof found[0]);
    memcpy(found[1], right->size, sizeof found[1]);
    job->left = left->data;
    job->right = right->data;
    job->result = result;
    int n = 0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 2; i++) {
            int skip = 0;
            for (int k = 0; k < 1; k++)
                if (summed[k + side] == i) {
                    skip = 1;
                    break;
                }
            if (!skip) {
                job->size[n] = found[side][i];
                job->stride[n++] = i ? found[side][0] : 1;
            }
        }
}

__attribute__((noinline)) static void run(const Job *job)
{
    for (long i = 0; i < job->size[0]; i++)
        for (long j = 0; j < job->size[1]; j++)
            job->result[i * job->size[1] + j] = job->left[i * job->stride[0]] * job->right[j * job->stride[1]];
}

static double product(const Matrix *left, const Matrix *right, const int *summed)
{
    Job job;
    double *result = malloc(sizeof(double) * 4), s = 0;
    plan(&job, left, right, summed, result);
    run(&job);
    for (int i = 0; i < 4; i++)
        s += result[i] * result[i];
    free(result);
    return s;
}

int main(void)
{
    double a[4] = {1, 2, 3, 4}, b[4] = {.5, .25, 2, 1}, d[4] = {0};
    int summed[2] = {1, 0};
    Matrix left = {{2, 2}, a}, shadow = {{2, 2}, d}, right = {{2, 2}, b};
    __enzyme_autodiff_void((void *)product, enzyme_dup, &left, &shadow, enzyme_const, &right, enzyme_const, summed);
    for (int i = 0; i < 4; i++) {
        double v[4], kept = a[i];
        for (int k = 0; k < 4; k++) {
            a[i] = kept + stencil_steps[k] * 1e-3;
            v[k] = product(&left, &right, summed);
        }
        a[i] = kept;
        expect("left", i, d[i], stencil(v, 1e-3));
    }
    return failures();
}
