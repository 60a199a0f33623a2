/* Structures, unions, bit-fields, variable length arrays, thread-local and volatile memory, and every kind of global. */
#include <stddef.h>
#include <string.h>

struct bits { unsigned a : 3; int b : 7; unsigned long long c : 40; _Bool d : 1; };
struct packed { char c; double d; short s; } __attribute__((packed));
union view { double d; unsigned long long u; float f[2]; unsigned char bytes[8]; };
struct node { struct node *next; union view v; struct { int x, y; } inner[3]; };
struct empty {};
enum colour { RED, GREEN = 7, BLUE = -3 };
typedef int vec_shape[2][3];

static const double table[] = {1.0, 0.1, -0.0, 1e308, 5e-324, 1.0 / 3.0};
const char text[] = "quote \" backslash \\ tab \t bell \a \xff end";
const char *const words[] = {"alpha", "beta", 0};
static int counter;
int common_one;
__thread int per_thread = 4;
static __thread double per_thread_static;
extern int elsewhere __attribute__((weak));
extern __thread int elsewhere_thread;
__attribute__((visibility("hidden"), aligned(64))) double hidden_aligned[4];
__attribute__((section(".mine"), used)) static int in_section = 3;
int (*const handlers[2])(int);
struct node chain[2] = {{&chain[1], {.d = 2.5}, {{1, 2}, {3, 4}, {5, 6}}}, {0, {.u = 7}, {{0}}}};
char *inside = (char *)&chain[1] + offsetof(struct node, inner);
ptrdiff_t relative;
struct empty nothing;
vec_shape shape = {{1, 2, 3}, {4, 5, 6}};
struct bits flags = {1, -2, 3, 1};
struct packed pack = {'c', 2.0, 3};
__int128 wide = ((__int128)1 << 100) + 7;

int f_bits(struct bits *p, int x) { p->a = x; p->b += 3; p->c ^= 0x123456789ULL; return p->b + p->a + (int)p->c + p->d; }
double f_packed(struct packed *p) { p->d *= 2; return p->d + p->s + p->c; }
unsigned long long f_union(double d) { union view v; v.d = d; v.bytes[7] ^= 0x80; return v.u; }
int f_volatile(volatile int *p) { *p = 3; return *p + *p; }
double f_vla(int n, double x) {
    double a[n][n + 1];
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= n; j++) a[i][j] = x * i + j;
    return a[n - 1][n];
}
int f_thread(void) { per_thread_static += per_thread++; return (int)per_thread_static + elsewhere_thread; }
int f_weak(void) { return &elsewhere ? elsewhere : counter++ + common_one + in_section; }
struct node f_copy(struct node n, int i) { n.inner[i].x = i; memcpy(&n.v, &table[i], sizeof n.v); return n; }
static enum colour next(enum colour c) { switch (c) { case RED: return GREEN; case GREEN: return BLUE; default: return RED; } }
int f_enum(int n) { enum colour c = RED; while (n--) c = next(c); return c; }
size_t f_text(int i) { return strlen(words[i & 1]) + sizeof text + text[i]; }
__int128 f_wide(__int128 a, unsigned __int128 b) { return a * wide / (__int128)(b | 1) + (a >> 3); }
void *f_alloca(unsigned n) { char *p = __builtin_alloca(n); memset(p, 1, n); return p[0] ? (void *)(size_t)p[n - 1] : 0; }
int f_assume(int *restrict p, const int *restrict q) { __builtin_assume(q != 0); *p = *q; if (*q > 10) __builtin_unreachable(); return *p; }
_Static_assert(sizeof(struct packed) == 11, "packed");
