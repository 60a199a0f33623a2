// Mutual recursion through pointers in a struct, and a function that returns one of the functions.
typedef double (*fun)(double *, int, void *);
struct pair { fun even, odd; };
static double even(double *x, int n, void *p) {
    if (n <= 0) return 1;
    x[0] *= 1.01;
    return x[n % 3] * ((struct pair *)p)->odd(x, n - 1, p);
}
static double odd(double *x, int n, void *p) {
    if (n <= 0) return 2;
    return x[n % 2] + ((struct pair *)p)->even(x, n - 1, p) * x[1];
}
static __attribute__((noinline)) fun start(struct pair *p, int n) { return n % 2 ? p->odd : p->even; }
double mutual_pointers(double *x, int n) {
    struct pair p = {even, odd};
    return start(&p, n)(x, n, &p) + start(&p, n + 1)(x, n + 1, &p);
}
