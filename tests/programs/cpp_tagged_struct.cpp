// A struct that is a double or a pointer by its tag.
#include "selfcheck.h"
#include <utility>
struct value { int tag; union { double d; const double *p; long i; } u; };
static double variant(const double *x, int n)
{
    value v[6], w[6];
    for (int i = 0; i < n; i++) {
        v[i].tag = i % 3;
        if (i % 3 == 0) v[i].u.d = x[i] * x[i];
        else if (i % 3 == 1) v[i].u.p = x + i;
        else v[i].u.i = i;
    }
    for (int i = 0; i < n; i++) w[n - 1 - i] = v[i];
    std::swap(w[0], w[3]);
    value t = w[1]; w[1] = w[2]; w[2] = t;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        if (w[i].tag == 0) sum += (i + 1) * w[i].u.d;
        else if (w[i].tag == 1) sum += (i + 1) * *w[i].u.p * *w[i].u.p;
        else sum += x[w[i].u.i] * x[0];
    }
    return sum;
}
int main() { CHECK_GRADIENT(variant, 6); return failures(); }
