/* A table of work arrays, one for each thread: derivatives that run at once make shadows of all of them. */
#include "selfcheck.h"
#include <pthread.h>
enum { THREADS = 4, MOST = 6, AGAIN = 5000 };
typedef double pair __attribute__((vector_size(16)));
static double *work[THREADS];
static int room[THREADS];
static pair *pairs;

static double by_thread(const double *x, int n, int t)
{
    if (n > room[t]) {
        free(work[t]);
        work[t] = malloc(n * sizeof(double));
        room[t] = n;
    }
    double *w = work[t], sum = 0;
    for (int i = 0; i < n; i++)
        w[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += w[i] * w[(i + 1) % n];
    return sum;
}
static double in_lanes(const double *x, int n)
{
    double sum = 0;
    if (!pairs)
        pairs = malloc(MOST * sizeof *pairs);
    for (int i = 0; i < n; i++)
        pairs[i] = (pair){x[i], x[(i + 1) % n]};
    for (int i = 0; i < n; i++) {
        pair v = pairs[i] * pairs[i];
        sum += v[0] * v[1];
    }
    return sum;
}
static void *run(void *given)
{
    int t = (int)(size_t)given, bad = 0;
    for (int k = 0; k < AGAIN; k++) {
        double x[MOST], d[MOST] = {0};
        sample(x, MOST);
        __enzyme_autodiff_void((void *)by_thread, enzyme_dup, x, d, enzyme_const, MOST, enzyme_const, t);
        for (int i = 0; i < MOST; i++) {
            double before = x[(i + MOST - 1) % MOST], after = x[(i + 1) % MOST];
            bad += fabs(d[i] - 2 * x[i] * (before * before + after * after)) > 1e-9;
        }
    }
    return (void *)(size_t)bad;
}
int main(void)
{
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, run, (void *)t);
    for (int t = 0; t < THREADS; t++) {
        void *bad;
        pthread_join(threads[t], &bad);
        expect("wrong in thread", t, (double)(size_t)bad, 0);
    }
    for (int again = 0; again < 2; again++)
        CHECK_GRADIENT(in_lanes, MOST);
    for (int t = 0; t < THREADS; t++)
        free(work[t]);
    free(pairs);
    return failures();
}
