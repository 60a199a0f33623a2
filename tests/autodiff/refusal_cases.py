"""C functions that must be refused: what is wrong is on the line that ends in `//!`."""

from __future__ import annotations

from dataclasses import dataclass

from llgrad.autodiff.requests.request import Mode

BOTH = (Mode.FORWARD, Mode.COMBINED)
REVERSE = (Mode.COMBINED,)


@dataclass(frozen=True)
class Case:
    """`letters`: see `deriving.request`. `error`: name of the class. `says`: words of the message."""

    name: str
    source: str
    letters: str
    error: str
    says: str
    modes: tuple[Mode, ...] = BOTH
    level: int = 1
    flags: tuple[str, ...] = ()
    fix: str = ""

    @property
    def line(self) -> int:
        """The line of what is refused."""
        return next(n for n, line in enumerate(self.source.splitlines(), 1) if line.endswith("//!"))


CASES = [
    Case("indirect_call", """
typedef double (*op)(double);
double f(op g, double x) {
    return g(x) * x;  //!
}
""", "coo", "NoRuleError", "function pointer"),
    Case("external", """
double elsewhere(double);
double f(double x) {
    return 3 * elsewhere(x);  //!
}
""", "oo", "NoRuleError", "elsewhere"),
    Case("external_memory", """
void elsewhere(double *);
double f(double *x) {
    elsewhere(x);  //!
    return x[0];
}
""", "do", "NoRuleError", "elsewhere"),
    Case("thread", """
#include <pthread.h>
struct job { const double *x; double y; };
static void *work(void *given) { struct job *j = given; j->y = j->x[0] * j->x[0]; return 0; }
double f(const double *x) {
    struct job job = {x, 0};
    pthread_t thread;
    pthread_create(&thread, 0, work, &job);  //!
    pthread_join(thread, 0);
    return job.y;
}
""", "do", "NoRuleError", "pthread_create", fix="in the calling thread"),
    Case("mangled", """
double elsewhere(double) __asm__("_ZN5space9elsewhereEd");
double f(double x) {
    return 3 * elsewhere(x);  //!
}
""", "oo", "NoRuleError", "space::elsewhere (_ZN5space9elsewhereEd)"),
    Case("text_and_back", """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
double f(double x) {
    char text[64], copy[64];
    sprintf(text, "%.17g", x);
    memcpy(copy, text, 64);
    char *end;
    double y = strtod(copy, &end);  //!
    return y * y;
}
""", "oo", "UnsupportedError", "text"),
    Case("text_over_a_float", """
#include <stdio.h>
union either { double number; char text[16]; };
__attribute__((noinline)) static void name(union either *e, int k) {
    snprintf(e->text, 8, "%07d", k);  //!
}
double f(double x, double y, int k) {
    union either e = {x};
    double s = e.number * y;
    name(&e, k);
    return s + e.number * y;
}
""", "ooco", "UnsupportedError", "snprintf"),
    Case("exponent_over_a_float", """
#include <math.h>
double f(double x, double y) {
    union { double number; int part[2]; } e = {x};
    double s = e.number * y;
    s += frexp(y, &e.part[1]);  //!
    return s + e.number * y;
}
""", "ooo", "UnsupportedError", "frexp"),
    Case("sine_and_cosine_in_one_place", """
#define _GNU_SOURCE
#include <math.h>
double f(double x) {
    double s;
    sincos(x, &s, &s);  //!
    return s * s;
}
""", "oo", "UnsupportedError", "one place", flags=("-fno-builtin",)),
    Case("float_copied_as_text", """
#include <string.h>
double f(double x) {
    double y = 0;
    strncpy((char *)&y, (char *)&x, 8);  //!
    return y * y;
}
""", "oo", "UnsupportedError", "strncpy"),
    Case("distance_of_parameters", """
struct node { long other; double value; };
__attribute__((noinline)) static void join(struct node *a, struct node *b) {
    a->other = (long)b - (long)a;  //!
}
double f(double x, double y) {
    struct node a = {0, x}, b = {0, y};
    join(&a, &b);
    join(&b, &a);
    struct node *p = (struct node *)((long)&a + a.other);
    p->value *= x;
    return b.value * a.value;
}
""", "ooo", "UnsupportedError", "distance"),
    Case("float_in_an_address", """
#include <string.h>
__attribute__((noinline)) static char *boxed(double d) {
    unsigned long bits;
    memcpy(&bits, &d, 8);
    return (char *)1 + (bits - 1);  //!
}
double f(double x) {
    char *box = boxed(x);
    double y;
    memcpy(&y, &box, 8);
    return y * y;
}
""", "oo", "UnsupportedError", "bits"),
    Case("half_of_a_double", """
double f(double x, double y) {
    union { double d; float f[2]; } u = {x * y};
    double s = u.d * x;
    u.f[1] = (float)y * 9;
    return s + u.d * y;  //!
}
""", "ooo", "KindError", "another format"),
    Case("float_in_a_double", """
double f(double x, double y) {
    union { double d; float f[2]; } u = {x * y};
    return u.d * x + u.f[1] * y;  //!
}
""", "ooo", "KindError", "another format", level=0),
    Case("bits_changed", """
double f(double x) {
    union { double d; unsigned long u; } v = {x};
    v.u += 1ul << 52;  //!
    return v.d;
}
""", "oo", "UnsupportedError", "bits"),
    Case("bits_in_memory", """
#include <string.h>
double f(const double *x) {
    unsigned long u;
    memcpy(&u, x, 8);
    u += 1ul << 52;  //!
    double d;
    memcpy(&d, &u, 8);
    return d;
}
""", "do", "UnsupportedError", "bits"),
    Case("merged_pointers", """
double f(double *x, double *y, int c) {
    double *p = c ? x : y;
    return p[0] * p[1];  //!
}
""", "dcco", "ActivityError", "points to"),
    Case("merged_in_memory", """
double f(double *x, double *y, int c) {
    double *p[2] = {x, y};
    return p[c][0] * p[c][1];  //!
}
""", "dcco", "ActivityError", "points to"),
    Case("merged_and_written", """
double f(double *x, double *y, double *z, int c) {
    double *p = c ? x : y;
    p[0] = z[0] * z[1];  //!
    return z[2];
}
""", "dcdco", "ActivityError", "points to"),
    Case("merged_and_copied", """
#include <string.h>
double f(double *to, double *x, double *y, int c) {
    memcpy(to, c ? x : y, 8 * c);  //!
    return to[0];
}
""", "ddcco", "ActivityError", "points to"),
    Case("constant_work_array", """
double f(const double *x, double *work, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) work[i] = x[i] * x[i];  //!
    for (int i = 1; i < n; i++) s += work[i] * work[i - 1];
    return s;
}
""", "dcco", "ActivityError", "constant"),
    Case("unknown_kind", """
double f(void *to, const void *from, int n) {
    int *a = to; const int *b = from;
    for (int i = 0; i < n; i++) a[i] = b[i];  //!
    return ((double *)to)[0];
}
""", "ddco", "KindError", "", modes=REVERSE, level=1, flags=("-fno-strict-aliasing", "-g0", "-gline-tables-only")),
    Case("setjmp", """
#include <setjmp.h>
static jmp_buf place;
double f(double x) {
    if (setjmp(place)) return x;  //!
    if (x > 2) longjmp(place, 1);
    return x * x;
}
""", "oo", "UnsupportedError", "setjmp"),
    Case("inline_assembly", """
double f(double x) {
    double y;
    __asm__("sqrtsd %1, %0" : "=x"(y) : "x"(x));  //!
    return y * x;
}
""", "oo", "NoRuleError", "assembly"),
    Case("assembly_in_memory", """
double f(double *x) {
    __asm__ volatile("fldl (%0); fsqrt; fstpl (%0)" : : "r"(x) : "memory");  //!
    return x[0];
}
""", "do", "NoRuleError", "assembly"),
    Case("atomic_add", """
double f(double *x, double y) {
    double s;
    __atomic_load((double *)x, &s, __ATOMIC_RELAXED);
    _Atomic double *a = (_Atomic double *)x;
    *a += y * y;  //!
    return s * x[1];
}
""", "doo", "UnsupportedError", "`cmpxchg`"),
    Case("atomic_exchange", """
double f(double *x, double y) {
    double old, new = y * y;
    __atomic_exchange(x, &new, &old, __ATOMIC_SEQ_CST);  //!
    return old * x[0];
}
""", "doo", "UnsupportedError", ""),
    Case("atomic_compare", """
double f(double *x, double y) {
    double expected = x[1], wanted = y * y;
    __atomic_compare_exchange(x, &expected, &wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  //!
    return expected * x[0];
}
""", "doo", "UnsupportedError", ""),
    Case("atomic_fetch_add", """
double f(double *x, double y) {
    return __atomic_fetch_add(x, y * y, __ATOMIC_RELAXED) * x[0];  //!
}
""", "doo", "UnsupportedError", "`atomicrmw`"),
    Case("atomic_in_a_function", """
__attribute__((noinline)) static void add(double *p, double v) {
    __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);  //!
}
double f(double x, double y) {
    double sum = x;
    add(&sum, y * y);
    return sum * y;
}
""", "ooo", "UnsupportedError", "`atomicrmw`"),
    Case("atomic_without_result", """
double f(double *x, double y) {
    __atomic_fetch_add(x, y * y, __ATOMIC_RELAXED);  //!
    return x[0] * x[1];
}
""", "doo", "UnsupportedError", "`atomicrmw`"),
    Case("varargs", """
#include <stdarg.h>
__attribute__((noinline)) static double sum(int n, ...) {
    va_list all;
    double s = 0;
    va_start(all, n);  //!
    for (int i = 0; i < n; i++) s += va_arg(all, double);
    va_end(all);
    return s * s;
}
double (*chosen)(int, ...) = sum;  /* calls through a pointer keep the registers of the ABI */
double f(double x) {
    return sum(2, x, x * x);
}
""", "oo", "NoRuleError", "variable arguments"),
    Case("pointer_of_global", """
double *buffer;
double f(double x) {
    buffer[0] = x * x;  //!
    return buffer[1] * x;
}
""", "oo", "ActivityError", "contents @buffer"),
    Case("pointer_of_library", """
double *get(void);
double f(double x) {
    double *p = get();  //!
    p[0] = x * x;
    return p[1] * x;
}
""", "oo", "NoRuleError", "get"),
    Case("callback", """
#include <search.h>
static int differ(const void *a, const void *b) { return *(double *)a != *(double *)b; }
double f(double *x, int n) {
    size_t count = n;
    double *found = lfind(x + 1, x, &count, 8, differ);  //!
    return found[0] * x[1];
}
""", "dco", "NoRuleError", "lfind"),
    Case("middle_bits_cleared", """
#include <string.h>
double f(double x) {
    unsigned long v;
    memcpy(&v, &x, 8);
    v &= 0xfff0000000000ffful;  //!
    memcpy(&x, &v, 8);
    return x * x;
}
""", "oo", "UnsupportedError", "`and`"),
    Case("tagged_pointer", """
#include <stdint.h>
__attribute__((noinline)) static double get(uintptr_t p) {
    double *q = (double *)(p & ~(uintptr_t)1);  //!
    return (p & 1) ? q[0] * q[1] : q[0];
}
double f(double *x, int n) { return get((uintptr_t)(x + n) | (n & 1)) * x[0]; }
""", "dco", "UnsupportedError", "computed from integers"),
    Case("xor_list", """
#include <stdint.h>
#include <stdlib.h>
struct node { double v; uintptr_t link; };
double f(const double *x, int n) {
    struct node *a = malloc(n * sizeof *a), *p = a;
    uintptr_t before = 0;
    double s = 0;
    for (int i = 0; i < n; i++) {
        a[i].v = x[i];
        a[i].link = (i ? (uintptr_t)&a[i - 1] : 0) ^ (i + 1 < n ? (uintptr_t)&a[i + 1] : 0);
    }
    while (p) {
        s = s * 0.5 + p->v * p->v;
        uintptr_t next = p->link ^ before;
        before = (uintptr_t)p;
        p = (struct node *)next;  //!
    }
    free(a);
    return s;
}
""", "dco", "UnsupportedError", "computed from integers"),
    Case("address_added_to_a_distance", """
#include <stdint.h>
#include <stdlib.h>
struct place { long tag; union { double *p; long distance; } u; };
__attribute__((noinline)) static void put(struct place *u, long distance) { u[1].u.distance = distance; }
__attribute__((noinline)) static double take(struct place *u, char *base) {
    return *(double *)((char *)u[1].u.p + (uintptr_t)base);  //!
}
double f(const double *x, int n) {
    double *m = malloc(80);
    m[5] = x[0] * x[1];
    struct place *u = malloc(64);
    u[0].u.p = m;
    put(u, (uintptr_t)(m + 5) - (uintptr_t)m);
    return take(u, (char *)m) * x[2] + u[0].u.p[5];
}
""", "dco", "UnsupportedError", "adding the address"),
    Case("static_address_added_to_a_distance", """
#include <stdint.h>
#include <stdlib.h>
struct place { long tag; union { double *p; long distance; } u; };
static double m[10];
__attribute__((noinline)) static void put(struct place *u, long distance) { u[1].u.distance = distance; }
__attribute__((noinline)) static double take(struct place *u, char *base) {
    return *(double *)((char *)u[1].u.p + (uintptr_t)base);  //!
}
double f(const double *x, int n) {
    m[5] = x[0] * x[1];
    struct place *u = malloc(64);
    u[0].u.p = m;
    put(u, (uintptr_t)(m + 5) - (uintptr_t)m);
    return take(u, (char *)m) * x[2] + u[0].u.p[5];
}
""", "dco", "UnsupportedError", "adding the address"),
    Case("address_times_eight_added_to_a_distance", """
#include <stdint.h>
#include <stdlib.h>
struct place { long tag; union { double *p; long distance; } u; };
__attribute__((noinline)) static void put(struct place *u, long distance) { u[1].u.distance = distance; }
double f(const double *x, int n) {
    double *m = malloc(80), array[4] = {x[3], x[1] * x[2]};
    m[5] = x[0] * x[1];
    struct place *u = malloc(64);
    u[0].u.p = m;
    put(u, (uintptr_t)(m + 5) - 8 * (uintptr_t)m);
    double *at = u[1].u.p, s = 0;
    uintptr_t k = (uintptr_t)m;
    if (n > 4) {
        at = array;
        k = n & 1;
        s = array[0];
    }
    return s + at[k] * x[2] + u[0].u.p[5];  //!
}
""", "dco", "UnsupportedError", "adding the address"),
    Case("sum_of_addresses_is_kept", """
#include <stdint.h>
#include <stdlib.h>
struct list { double v[2]; double *link; };
__attribute__((noinline)) static void put(struct list *p, double *link) { p->link = link; }
double f(const double *x, int n) {
    double *m = malloc(16);
    *m = x[0] * x[1];
    struct list *p = malloc(sizeof *p);
    p->v[0] = p->v[1] = x[2];
    put(p, p->v + (n > 4 ? (uintptr_t)m : 1));
    return p->v[0] * *m * (n > 4 ? (double *)(((uintptr_t)p->link - (uintptr_t)p) / 8) : p->link)[0];  //!
}
""", "dco", "UnsupportedError", "computed from integers"),
    Case("distance_added_to_an_address", """
#include <stdint.h>
#include <stdlib.h>
struct place { long tag; union { double *p; long distance; } u; };
__attribute__((noinline)) static void put(struct place *u, long distance) { u[1].u.distance = distance; }
__attribute__((noinline)) static double take(struct place *u, char *base) {
    return *(double *)((uintptr_t)u[1].u.p + (uintptr_t)base);  //!
}
double f(const double *x, int n) {
    double *m = malloc(80);
    m[5] = x[0] * x[1];
    struct place *u = malloc(64);
    u[0].u.p = m;
    put(u, (uintptr_t)(m + 5) - (uintptr_t)m);
    return take(u, (char *)m) * x[2] + u[0].u.p[5];
}
""", "dco", "UnsupportedError", "computed from integers"),
    *(Case(f"through_a_file_{n}", f"""
#include <stdio.h>
double f(double x) {{
    double y = 0;
    FILE *h = tmpfile();
    {there}
    rewind(h);
    {back}  //!
    fclose(h);
    return y * x;
}}
""", "oo", "UnsupportedError", "a file") for n, (there, back) in enumerate([
        ('fprintf(h, "%.17g", x);', 'if (fscanf(h, "%lf", &y) != 1) return 0;'),
        ('if (fwrite(&x, 8, 1, h) != 1) return 0;', 'if (fread(&y, 8, 1, h) != 1) return 0;'),
    ])),
    Case("through_a_stream_in_memory", """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
double f(double x) {
    char *memory;
    size_t size;
    double y;
    FILE *h = open_memstream(&memory, &size);  //!
    fwrite(&x, 8, 1, h);
    fclose(h);
    memcpy(&y, memory, 8);
    free(memory);
    return y * x;
}
""", "oo", "UnsupportedError", "a file"),
    Case("distance_to_another_object", """
#include <stddef.h>
#include <stdint.h>
double f(double x) {
    double here[4] = {x, 2, 3, 4}, there[8];
    volatile int which = 5;
    for (int i = 0; i < 8; i++)
        there[i] = i == which ? x * x : i;
    ptrdiff_t apart = (uintptr_t)there - (uintptr_t)here;  //!
    if (which > 6)
        apart = 8;
    return *(double *)((char *)here + apart + 8 * which);
}
""", "oo", "UnsupportedError", "distance from one object to another"),
    Case("a_buffer_is_kept_by_a_pointer_into_it", """
#include <stdlib.h>
double f(double x) {
    static double *from_one;  // nobody can be asked how large the block is
    if (!from_one)
        from_one = (double *)malloc(80) - 1;
    from_one[1 + (x > 3)] = x * x;  //!
    return from_one[1] * x;
}
""", "oo", "ActivityError", "needs a shadow"),
    *(Case(f"digits_in_a_stream_{n}", f"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
double f(double x) {{
    char own[64], *text = own;
    size_t size;
    FILE *h = {opened};
    fprintf(h, "%.15f", x * x);
    fclose(h);
    double y = 0;
    for (const char *s = text + 2; *s >= '0' && *s <= '9'; s++)
        y = y * 10 + (*s - '0');  //!
    return y * x;
}}
""", "oo", "UnsupportedError", "text") for n, opened in enumerate([
        'fmemopen(own, 64, "w")', "open_memstream(&text, &size)",
    ])),
    *(Case(f"text_by_{name}", f"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
double f(double x) {{
    char own[64], *text = own;
    {written}
    double y = strtod(text, 0);  //!
    return y * x;
}}
""", "oo", "UnsupportedError", "text") for name, written in [
        ("gcvt", "gcvt(x * x, 17, text);"),
        ("strfromd", 'extern int strfromd(char *, size_t, const char *, double); strfromd(text, 64, "%g", x);'),
        ("asprintf", 'if (asprintf(&text, "%.17g", x) < 0) return 0;'),
        ("a_stream", 'size_t n; FILE *h = open_memstream(&text, &n); fprintf(h, "%.17g", x); fclose(h);'),
    ]),
    Case("digits_of_text", """
#include <stdio.h>
#include <string.h>
double f(double x) {
    char own[64], text[64];
    double y = 0;
    snprintf(own, sizeof own, "%.15f", x * x);
    memcpy(text, own, sizeof own);
    for (const char *s = text + 2; *s >= '0' && *s <= '9'; s++)
        y = y * 10 + (*s - '0');  //!
    return y * x;
}
""", "oo", "UnsupportedError", "text"),
    Case("scanned_text", """
#include <stdio.h>
double f(double x) {
    char text[64];
    double y = 0;
    snprintf(text, sizeof text, "%.17g", x);
    sscanf(text, "%lf", &y);  //!
    return y * x;
}
""", "oo", "UnsupportedError", "text"),
    *(Case(f"swapped_by_{piece}s", f"""
#include <stddef.h>
static void swap(void *a, void *b, size_t n) {{
    {piece} *p = a, *q = b;
    for (n /= sizeof *p; n--; p++, q++) {{
        {piece} kept = *p; *p = *q; *q = kept;  //!
    }}
}}
double f(const double *x) {{
    double a[2] = {{x[0], x[1]}};
    swap(a, a + 1, 8);
    return a[0] * a[0] + 3 * a[1];
}}
""", "do", "KindError", "", level=0, flags=("-fno-strict-aliasing",)) for piece in ("char", "short", "int", "float")),
    *(Case(f"copied_in_halves_{where}", f"""
#include <stddef.h>
static void copy(float *p, const float *q, size_t n) {{
    for (size_t i = 0; i < n / 4; i++) p[i] = q[i];  //!
}}
{source}
""", letters, "KindError", "part of a float", level=0, flags=("-fno-strict-aliasing",))
    for where, letters, source in [
        ("to_the_stack", "do", """
double f(const double *x) { double a[2]; copy((float *)a, (const float *)x, 16); return a[0] * a[0] + 3 * a[1]; }
"""),
        ("to_the_caller", "ddc", "void f(const double *x, double *y) { copy((float *)y, (const float *)x, 16); }"),
    ]),
]  # fmt: skip
