/* Small programs that the interpreter and machine code must agree on. Every one is `double name(double, int)`. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <complex.h>
#include <math.h>
#include <stdint.h>

double polynomial(double x, int n) {
    double s = 0, p = 1;
    for (int i = 0; i < n; i++) { s += p / (i + 1); p *= x; }
    return s;
}

double recursive(double x, int n) { return n <= 1 ? x : recursive(x, n - 1) * 0.5 + sin(recursive(x, n - 2)); }

struct node { struct node *next; double value; char tag; };
double heap_list(double x, int n) {
    struct node *head = NULL;
    for (int i = 0; i < n; i++) {
        struct node *new = malloc(sizeof *new);
        new->value = x * i; new->tag = (char)(i * 37); new->next = head; head = new;
    }
    double s = 0;
    while (head) { struct node *old = head; s = s * 1.01 + old->value * old->tag; head = old->next; free(old); }
    return s;
}

struct vec { double x, y, z; };
struct pair { float a, b; };
static struct vec scale(struct vec v, double k) { v.x *= k; v.y *= k; v.z *= k; return v; }
static struct pair twist(struct pair p) { struct pair q = {p.b * 2, p.a - p.b}; return q; }
double by_value(double x, int n) {
    struct vec v = {x, x * x, 1};
    struct pair p = {(float)x, 1.5f};
    for (int i = 0; i < n; i++) { v = scale(v, 0.75); p = twist(p); }
    return v.x + v.y * v.z + p.a / (1 + p.b * p.b);
}

union word { double d; uint64_t u; float f[2]; unsigned char c[8]; };
double unions(double x, int n) {
    union word w, v;
    w.d = x;
    for (int i = 0; i < 8; i++) v.c[i] = w.c[i];
    union word z; z.u = v.u;
    w.f[0] = 1.5f; w.f[1] = (float)n;
    return z.d * w.f[1] + w.f[0];
}

double copied(double x, int n) {
    double a[8], b[8];
    for (int i = 0; i < 8; i++) a[i] = x * i + n;
    memcpy(b, a, sizeof a);
    memmove(b + 1, b, 6 * sizeof(double));
    memset(b, 0, sizeof(double));
    double s = 0;
    for (int i = 0; i < 8; i++) s = s / 3 + b[i];
    return s;
}

static double twice(double x) { return 2 * x; }
static double square(double x) { return x * x; }
static double (*const table[])(double) = {twice, square, sqrt, exp};
double indirect(double x, int n) { return table[n & 3](x) + table[(n + 1) & 3](x); }

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
double sorted(double x, int n) {
    double a[16];
    for (int i = 0; i < 16; i++) a[i] = x * ((i * 7 + n) % 16);
    qsort(a, 16, sizeof(double), compare);
    return a[3] + 10 * a[12];
}

static double sum(int count, ...) {
    va_list l;
    va_start(l, count);
    double s = 0;
    for (int i = 0; i < count; i++) s += i % 2 ? va_arg(l, int) : va_arg(l, double);
    va_end(l);
    return s;
}
double variadic(double x, int n) {
    return sum(20, x, n, 2 * x, n + 1, 3 * x, n + 2, 4 * x, n, 5 * x, n, 6 * x, n, 7 * x, 8, 8 * x, n, 9 * x, n, x, 1);
}

double selection(double x, int n) {
    switch (n % 5) {
    case 0: return x;
    case 1: x += 1; /* fall through */
    case 2: return x * x;
    case 3: { double r = 1; while (r < x) r *= 1.5; return r; }
    default: return fabs(x) > 1 ? fmax(x, 2) : fmin(x, 0.5);
    }
}

double bits(double x, int n) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < n; i++) { h ^= (uint32_t)i; h *= 16777619u; h = (h << 7) | (h >> 25); }
    int64_t s = (int64_t)h - 0x7fffffff;
    return x * (double)(s % 1000) + __builtin_popcount(h) + __builtin_ctz(h | 1024);
}

static int counter = 3;
static double state[3] = {1, 2, 3};
double globals(double x, int n) { state[n % 3] += x; return state[0] * 100 + state[1] * 10 + state[2] + counter++; }

double matrix(double x, int n) {
    double a[3][3], b[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 10}};
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                a[i][j] = 0;
                for (int l = 0; l < 3; l++) a[i][j] += b[i][l] * b[l][j] * x * 0.1;
            }
        memcpy(b, a, sizeof a);
    }
    return b[0][0] + b[1][2] - b[2][1];
}

double variable_array(double x, int n) {
    double a[n + 1];
    a[0] = x;
    for (int i = 1; i <= n; i++) a[i] = a[i - 1] * 0.9 + i;
    return a[n / 2] - a[n];
}

double wide(double x, int n) { long double s = 0; for (int i = 1; i <= n; i++) s += (long double)x / i; return (double)s; }

double library(double x, int n) {
    double *a = calloc(2, sizeof *a);
    a[0] = x;
    a = realloc(a, 8 * sizeof *a);
    for (int i = 1; i < 8; i++) a[i] = a[i - 1] + fabs(x) + 1;
    double key = a[5];
    double *found = bsearch(&key, a, 8, sizeof *a, compare);
    char text[32];
    int length = snprintf(text, sizeof text, "%d %s", n, "words");
    double r = a[7] * (found - a) + length + strlen(text) + (strcmp(text, "2 words") == 0) + memcmp(a, a + 1, 8) * 0.0;
    free(a);
    return r + abs(-n) + (strchr(text, 'w') - text);
}

double complex_numbers(double x, int n) {
    double _Complex z = x + 0.5 * n * 1.0i, w = cexp(z) * csqrt(z) / (z + 2);
    return creal(w * z) + cimag(w) + cabs(z);
}

double printed(double x, int n) { printf("%5.2f|%-4d|%s|%c|%%\n", x, n, "text", 'a' + n); puts("end"); return x; }
