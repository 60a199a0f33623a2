// A tape that is read again, of functions that take derivatives themselves: shadows of what the inner tape holds are cleared.
#include "selfcheck.h"

template <class R, class... A> R __enzyme_autodiff(void *, A...);
template <class R, class... A> R __enzyme_augmentfwd(void *, A...);
template <class R, class... A> R __enzyme_reverse(void *, A...);
struct kept { void *tape; double value; };
struct two { double a, b; };

static double smooth(double a) { return a * a * a * a + exp(a); }
static double split(double a)
{
    kept k = __enzyme_augmentfwd<kept>((void *)smooth, enzyme_out, a);
    return __enzyme_reverse<double>((void *)smooth, enzyme_out, a, 1.0, k.tape);
}
static double twice(double a)
{
    kept k = __enzyme_augmentfwd<kept>((void *)split, enzyme_out, a);
    return __enzyme_reverse<double>((void *)split, enzyme_out, a, 1.0, k.tape);
}

static double grown(double a)
{
    double *v = 0;
    int n = 0;
    for (int i = 0; i < 3; i++) {
        if (n <= i) {
            n = n ? 2 * n : 1;
            double *w = (double *)malloc(n * sizeof *w);
            for (int j = 0; j < i; j++)
                w[j] = v[j];
            free(v);
            v = w;
        }
        v[i] = a;
    }
    double p = v[0] * v[1] * v[2];
    free(v);
    return p;
}
static double slope_of_grown(double a) { return __enzyme_autodiff<double>((void *)grown, enzyme_out, a); }

static void check(const char *name, double (*f)(double), double wanted)
{
    kept k = __enzyme_augmentfwd<kept>((void *)f, enzyme_out, 2.0);
    for (int i = 1; i < 4; i++)
        expect(name, i, __enzyme_reverse<double>((void *)f, enzyme_nofree, enzyme_out, 2.0, 0.5 * i, k.tape), 0.5 * i * wanted);
    two r = __enzyme_reverse<two>((void *)f, enzyme_width, 2, enzyme_out, 2.0, 1.0, -2.0,
                                  __enzyme_augmentfwd<kept>((void *)f, enzyme_width, 2, enzyme_out, 2.0).tape);
    expect(name, 4, r.a, wanted);
    expect(name, 5, r.b, -2 * wanted);
    expect(name, 6, __enzyme_reverse<double>((void *)f, enzyme_out, 2.0, 1.0, k.tape), wanted);
}

int main()
{
    check("split of split", twice, 24 * 2 + exp(2));
    check("reverse of split", split, 12 * 4 + exp(2));
    check("grown", slope_of_grown, 12);
    return failures();
}
