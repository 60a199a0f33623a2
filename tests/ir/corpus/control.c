/* Control flow: switches, computed goto, setjmp, varargs, recursion, function pointers, inline assembly, atomics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef double (*fn)(double, int);
static jmp_buf env;
static atomic_int shared;
static _Atomic double shared_double;
extern void opaque(void) __attribute__((cold, noreturn));
int __attribute__((noinline, const)) pure_square(int x) { return x * x; }
double twice(double x, int n) { return n ? 2 * x : x; }
double half_of(double x, int n) { return x / (n + 2); }
static const fn table[] = {twice, half_of, 0};
double indirect(fn f, double x, int n) { return f(x, n) + table[n & 1](x, n); }

int interpret(const unsigned char *code) {
    static void *const labels[] = {&&op_inc, &&op_dec, &&op_double, &&op_end};
    int x = 0;
    goto *labels[*code++];
op_inc: x++; goto *labels[*code++];
op_dec: x--; goto *labels[*code++];
op_double: x *= 2; goto *labels[*code++];
op_end: return x;
}
long dispatch(long x) {
    switch (x) {
    case -5: return 3;
    case 0 ... 3: return x * 7;
    case 1000: x++; /* fall through */
    case 1001: return x;
    case 0x7fffffffffffL: opaque();
    default: return dispatch(x - 1) + 1;
    }
}
double sum(int n, ...) {
    va_list ap, copy;
    va_start(ap, n);
    va_copy(copy, ap);
    double s = va_arg(copy, int);
    while (n--) s += va_arg(ap, double);
    long double l = va_arg(ap, long double);
    va_end(copy);
    va_end(ap);
    return s + (double)l;
}
int protect(int (*f)(int), int x) { if (setjmp(env)) return -1; if (x > 100) longjmp(env, 1); return f(x); }
int with_asm(int x) {
    int y, z = 3;
    __asm__ volatile("addl %2, %0\n\t# \"quoted\"" : "=r"(y), "+m"(z) : "r"(x), "0"(x) : "cc", "memory");
    __asm__("" : "+r"(y));
    return y + z;
}
int asm_goto(int x) {
    __asm__ goto("testl %0, %0\n\tjne %l1" : : "r"(x) : "cc" : odd);
    return 0;
odd:
    return 1;
}
__asm__(".globl marker\nmarker: .long 7");
int atomics(int x) {
    int expected = 3;
    atomic_fetch_add(&shared, x);
    atomic_fetch_sub_explicit(&shared, x, memory_order_relaxed);
    atomic_exchange_explicit(&shared, x, memory_order_acq_rel);
    atomic_compare_exchange_weak_explicit(&shared, &expected, x, memory_order_release, memory_order_relaxed);
    atomic_compare_exchange_strong(&shared, &expected, x + 1);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_acquire);
    atomic_store_explicit(&shared, 3, memory_order_release);
    shared_double += 1.5;
    __atomic_fetch_nand(&expected, 7, __ATOMIC_SEQ_CST);
    __atomic_fetch_min(&expected, 7, __ATOMIC_SEQ_CST);
    return atomic_load_explicit(&shared, memory_order_acquire) + expected;
}
int __attribute__((noinline)) tail(int n, int acc) { return n ? tail(n - 1, acc + n) : acc; }
int __attribute__((alias("tail"))) tail_alias(int n, int acc);
static int (*resolve(void))(int) { return pure_square; }
int resolved(int) __attribute__((ifunc("resolve")));
__attribute__((constructor)) static void begin(void) { shared = 1; }
__attribute__((destructor(200))) static void end(void) { puts("end"); }
int loops(int **a, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (!a[i]) continue;
#pragma clang loop unroll_count(4) vectorize(disable)
        for (int j = 0; j < n; j++) {
            if (a[i][j] < 0) goto out;
            s += a[i][j] << (j & 3);
        }
    }
out:
    do s ^= s >> 1; while (s > 1000);
    return s;
}
void *grow(void *p, size_t n) { void *q = realloc(p, n); if (!q) { perror("grow"); exit(1); } free(calloc(n, 2)); return q; }
int overflow(int a, int b) { int r; return __builtin_add_overflow(a, b, &r) ? -1 : r + __builtin_popcount(a) + __builtin_clz(b | 1); }
static int fold(int (*f)(int), int n) { int s = 0; for (int i = 0; i < n; i++) s += f(i) % (i + 1); return s; }
int main(int argc, char **argv) { printf("%d %f %s\n", fold(pure_square, argc), sum(2, 1.0, 2.0, 3.0L), argv[0]); return tail_alias(argc, resolved(2)); }
