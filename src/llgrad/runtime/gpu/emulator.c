/* A GPU on the host: the blocks of a grid run one after another, the threads of a block as fibers that meet at barriers.
 *
 * `gpu/emulator.py` compiles this together with a program's host view, whose intrinsics `llgrad.gpu.*` are here. A fiber
 * runs until its thread waits or ends; when all have, they go on. A thread that ends while others wait is an error, as
 * it is undefined on a GPU. A warp is 32 threads of a block in a row; they do not run in lockstep here.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NAMED(name) __asm__("llgrad.gpu." name)
#define NOINLINE __attribute__((noinline))

enum { STACK = 1 << 18, WARP = 32, MOST_THREADS = 1024 };
enum { RUNNING, WAITING, WITH_WARP, ENDED };
enum { FINE, DIVERGENT, NO_MEMORY, FAILED };

typedef struct { uint32_t x, y, z; } Three;
typedef void Thunk(void **arguments);
typedef struct {
    ucontext_t context;
    Three index;
    uint32_t lanes; /* with which it waits */
    int state;
} Fiber;

static Three thread, block, threads, blocks;
static Fiber *fibers, *current;
static ucontext_t scheduler;
static Thunk *kernel;
static void **given;
static int failure;
int llgrad_last_first; /* in which order the threads of a block take their turns */

#define REGISTER(name, value) \
    uint32_t name##_x(void) NAMED("read.ptx.sreg." #name ".x"); \
    uint32_t name##_y(void) NAMED("read.ptx.sreg." #name ".y"); \
    uint32_t name##_z(void) NAMED("read.ptx.sreg." #name ".z"); \
    uint32_t name##_x(void) { return value.x; } \
    uint32_t name##_y(void) { return value.y; } \
    uint32_t name##_z(void) { return value.z; }
REGISTER(tid, thread)
REGISTER(ctaid, block)
REGISTER(ntid, threads)
REGISTER(nctaid, blocks)

static uint32_t rank(void) { return (thread.z * threads.y + thread.y) * threads.x + thread.x; }
uint32_t lane(void) NAMED("read.ptx.sreg.laneid");
uint32_t lane(void) { return rank() % WARP; }
uint32_t warp_size(void) NAMED("read.ptx.sreg.warpsize");
uint32_t warp_size(void) { return WARP; }

/* The thread waits, or ends (`state`); it goes on when all others have done so. */
static NOINLINE void leave(int state)
{
    current->state = state;
    swapcontext(&current->context, &scheduler);
}

void wait_for_all(uint32_t number) NAMED("barrier.cta.sync.aligned.all");
void wait_for_all(uint32_t number) { leave(WAITING); }
void wait_here(uint32_t number) NAMED("barrier.cta.sync.all");
void wait_here(uint32_t number) { leave(WAITING); }
void wait_for_warp(uint32_t mask) NAMED("bar.warp.sync");
void wait_for_warp(uint32_t mask)
{
    current->lanes = mask;
    leave(WITH_WARP);
}

/* Each lane of a warp shows a value, and reads that of another (PTX ISA 9.7.9.6). */
static uint32_t shown[MOST_THREADS];
static uint32_t shuffled(uint32_t mask, uint32_t value, int lane, bool inside)
{
    uint32_t own = rank() % WARP, at = rank();
    shown[at] = value;
    wait_for_warp(mask);
    uint32_t found = shown[at - own + (inside ? (uint32_t)lane : own)];
    wait_for_warp(mask);
    return found;
}
#define SHUFFLE(kind, first, compare) \
    uint32_t shuffle_##kind(uint32_t mask, uint32_t x, uint32_t b, uint32_t c) NAMED("shfl.sync." #kind ".i32"); \
    uint32_t shuffle_##kind(uint32_t mask, uint32_t x, uint32_t b, uint32_t c) \
    { \
        int own = rank() % WARP, segment = c >> 8 & 31, low = own & segment, last = low | (c & 31 & ~segment), lane = first; \
        return shuffled(mask, x, lane, lane compare last); \
    } \
    float shuffle_float_##kind(uint32_t mask, float x, uint32_t b, uint32_t c) NAMED("shfl.sync." #kind ".f32"); \
    float shuffle_float_##kind(uint32_t mask, float x, uint32_t b, uint32_t c) \
    { \
        uint32_t bits; \
        memcpy(&bits, &x, 4); \
        bits = shuffle_##kind(mask, bits, b, c); \
        memcpy(&x, &bits, 4); \
        return x; \
    }
SHUFFLE(down, own + (int)b, <=)
SHUFFLE(up, own - (int)b, >=)
SHUFFLE(bfly, own ^ (int)b, <=)
SHUFFLE(idx, low | ((int)b & 31 & ~segment), <=)

static uint32_t counted;
static uint32_t count_block(bool here)
{
    leave(WAITING);
    if (rank() == 0) counted = 0;
    leave(WAITING);
    counted += here;
    leave(WAITING);
    return counted;
}
uint32_t count_all(uint32_t number, bool here) NAMED("barrier.cta.red.popc.aligned.all");
uint32_t count_all(uint32_t number, bool here) { return count_block(here); }
bool any_of_all(uint32_t number, bool here) NAMED("barrier.cta.red.or.aligned.all");
bool any_of_all(uint32_t number, bool here) { return count_block(here) != 0; }
bool all_of_all(uint32_t number, bool here) NAMED("barrier.cta.red.and.aligned.all");
bool all_of_all(uint32_t number, bool here) { return count_block(!here) == 0; }
void fence_block(void) NAMED("membar.cta");
void fence_block(void) {}
void fence_device(void) NAMED("membar.gl");
void fence_device(void) {}
void fence_system(void) NAMED("membar.sys");
void fence_system(void) {}

/* Is it memory of the thread's own, on its stack? */
bool is_own(void *memory) NAMED("isspacep.local");
bool is_own(void *memory)
{
    uint64_t at = (uint64_t)memory, stack = current ? (uint64_t)current->context.uc_stack.ss_sp : 0;
    return at >= stack && at < stack + STACK;
}

/* Let go on who waits with lanes that have all come (lanes that ended, or never were, are not waited for). */
static bool free_warps(uint32_t count)
{
    bool freed = false;
    static bool met[MOST_THREADS];
    for (uint32_t n = 0; n < count; n++) {
        met[n] = fibers[n].state == WITH_WARP;
        for (uint32_t lane = 0; lane < WARP && met[n]; lane++) {
            uint32_t other = n - n % WARP + lane;
            bool awaited = fibers[n].lanes >> lane & 1 && other < count && fibers[other].state != ENDED;
            met[n] = !awaited || (fibers[other].state == WITH_WARP && fibers[other].lanes == fibers[n].lanes);
        }
    }
    for (uint32_t n = 0; n < count; n++)
        if (met[n]) fibers[n].state = RUNNING, freed = true;
    return freed;
}

static void run(void)
{
    kernel(given);
    leave(ENDED);
}

/* All threads of a block, until all have ended: in each round, each runs to its next barrier. */
static int run_block(uint32_t count, char *stacks)
{
    for (uint32_t n = 0; n < count; n++) {
        Fiber *f = &fibers[n];
        f->index = (Three){n % threads.x, n / threads.x % threads.y, n / threads.x / threads.y};
        f->state = RUNNING;
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = stacks + (size_t)n * STACK;
        f->context.uc_stack.ss_size = STACK;
        f->context.uc_link = NULL;
        makecontext(&f->context, run, 0);
    }
    for (;;) {
        uint32_t ended = 0, waiting = 0;
        for (uint32_t turn = 0; turn < count && !failure; turn++) {
            uint32_t n = llgrad_last_first ? count - 1 - turn : turn;
            current = &fibers[n];
            thread = current->index;
            if (current->state == RUNNING) swapcontext(&scheduler, &current->context);
            ended += current->state == ENDED;
            waiting += current->state == WAITING;
        }
        current = NULL;
        if (failure) return failure;
        if (ended == count) return FINE;
        if (free_warps(count)) continue;
        if (waiting != count) return DIVERGENT;
        for (uint32_t n = 0; n < count; n++) fibers[n].state = RUNNING;
    }
}

/* What a derivative calls where it cannot go on, and `__trap` does. */
__attribute__((noreturn)) void trap(void) NAMED("trap");
__attribute__((noreturn)) void trap(void)
{
    failure = FAILED;
    if (current) leave(ENDED);
    abort();
}

/* Launch a kernel: `arguments` are pointers to its arguments. `shared` are the block's variables, filled with NaN. */
int llgrad_launch(Thunk *thunk, void **arguments, const uint32_t grid[3], const uint32_t size[3], uint64_t count,
                  char *const shared[], const uint64_t bytes[])
{
    blocks = (Three){grid[0], grid[1], grid[2]};
    threads = (Three){size[0], size[1], size[2]};
    uint32_t all = threads.x * threads.y * threads.z;
    char *stacks = mmap(NULL, (size_t)all * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fibers = calloc(all, sizeof(Fiber));
    int result = stacks == MAP_FAILED || !fibers ? NO_MEMORY : FINE;
    kernel = thunk, given = arguments, failure = FINE;
    for (block.z = 0; block.z < blocks.z && result == FINE; block.z++)
        for (block.y = 0; block.y < blocks.y && result == FINE; block.y++)
            for (block.x = 0; block.x < blocks.x && result == FINE; block.x++) {
                for (uint64_t n = 0; n < count; n++) memset(shared[n], 0xff, bytes[n]);
                result = run_block(all, stacks);
            }
    if (stacks != MAP_FAILED) munmap(stacks, (size_t)all * STACK);
    free(fibers);
    return result;
}

/* What libdevice has and libm lacks; the rest is libm's. */
#define BOTH(name, x, value) \
    double __nv_##name(double x) { return value; } \
    float __nv_##name##f(float given) { double x = given; return (float)(value); }
BOTH(rsqrt, x, 1 / sqrt(x))
BOTH(rcbrt, x, 1 / cbrt(x))
BOTH(sinpi, x, sin(M_PI * fmod(x, 2)))
BOTH(cospi, x, cos(M_PI * fmod(x, 2)))
BOTH(erfcx, x, exp(x * x) * erfc(x))
BOTH(normcdf, x, erfc(-x * M_SQRT1_2) / 2)
double __nv_rhypot(double x, double y) { return 1 / hypot(x, y); }
float __nv_rhypotf(float x, float y) { return 1 / hypotf(x, y); }
float __nv_saturatef(float x) { return x > 0 ? fminf(x, 1) : 0; }
float __nv_fdividef(float x, float y) { return x / y; }
float __nv_fast_fdividef(float x, float y) { return x / y; }
float __nv_fast_powf(float x, float y) { return powf(x, y); }
#define FAST(name) float __nv_fast_##name(float x) { return name(x); }
FAST(sinf) FAST(cosf) FAST(tanf) FAST(expf) FAST(exp10f) FAST(logf) FAST(log2f) FAST(log10f)
#define ROUNDED(letter, type) \
    type __nv_##letter##add_rn(type x, type y) { return x + y; } \
    type __nv_##letter##sub_rn(type x, type y) { return x - y; } \
    type __nv_##letter##mul_rn(type x, type y) { return x * y; } \
    type __nv_##letter##div_rn(type x, type y) { return x / y; } \
    type __nv_##letter##rcp_rn(type x) { return 1 / x; } \
    type __nv_##letter##sqrt_rn(type x) { return (type)sqrt(x); }
ROUNDED(f, float)
ROUNDED(d, double)
double __nv_fma_rn(double x, double y, double z) { return fma(x, y, z); }
float __nv_fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
float __nv_frsqrt_rn(float x) { return 1 / sqrtf(x); }
int __nv_abs(int x) { return x < 0 ? -x : x; }
int __nv_min(int x, int y) { return x < y ? x : y; }
int __nv_max(int x, int y) { return x > y ? x : y; }
float __nv_int2float_rn(int x) { return x; }
double __nv_int2double_rn(int x) { return x; }
int __nv_float2int_rn(float x) { return (int)rintf(x); }
int __nv_float2int_rz(float x) { return (int)x; }
