#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* What a module's main calls: ends the program where a derivative is not what it should be. */
void expect(double got, double wanted)
{
    static int number;
    number++;
    if (fabs(got - wanted) <= 1e-9 * fmax(1, fabs(wanted)))
        return;
    printf("number %d is %.17g, not %.17g\n", number, got, wanted);
    exit(1);
}

/* A heap that clears nothing and counts what it gave. */
static long left;
void *pool_get(void *unused, long bytes)
{
    void *p = malloc(bytes);
    left++;
    memset(p, 0x7f, bytes);
    return p;
}
void pool_release(void *p)
{
    left--;
    free(p);
}
long pool_left(void) { return left; }
