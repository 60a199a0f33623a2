/* realloc in a loop whose length depends on the data. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double *list = 0;
    int used = 0, room = 0;
    for (int i = 0; i < n; i++)
        for (double v = x[i]; v > 0.2; v *= 0.6) {
            if (used == room) {
                room = room ? 2 * room : 2;
                list = (double *)realloc(list, room * sizeof *list);
            }
            list[used++] = v * v;
        }
    double sum = 0;
    for (int i = 0; i < used; i++)
        sum += list[i] * (i + 1);
    free(list);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
