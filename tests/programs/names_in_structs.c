/* Names beside numbers: text copied into and searched in structs that hold active floats. */
#include "selfcheck.h"

struct entry {
    char key[16];
    double value;
};

static double f(const double *x, int n)
{
    struct entry *e = calloc((size_t)n, sizeof *e);
    for (int i = 0; i < n; i++) {
        e[i].value = x[i];
        sprintf(e[i].key, "%c=%d", 'a' + i % 2, i);
        strncat(e[i].key, "=z", 3);
        e[i].value *= 2;
    }
    double s = 0;
    for (int i = 0; i < n; i++) {
        char *at = strchr(e[i].key, '='), copy[16];
        s += e[i].value * e[i].value * (double)(at - e[i].key) * (at[1] == 'z' ? 2 : 1);
        strncpy(copy, at, sizeof copy - 1);
        s += (double)strspn(copy, "=23") * e[i].value;
        if (strstr(e[i].key, "b="))
            s += e[i].value;
    }
    free(e);
    return s;
}

int main(void)
{
    CHECK_EVERY_WAY(f, 5);
    return failures();
}
