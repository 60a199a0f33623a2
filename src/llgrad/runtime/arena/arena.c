/* The arena that tapes lie in. `autodiff/emit/tape.py` declares what derivatives call, and says what it means.
 *
 * `make runtime` compiles this file to `arena.bc`, and with -DEACH_BLOCK_ITS_OWN to `blocks.bc`: there, each block of a
 * tape is an allocation of its own, so that sanitizers see it (LLGRAD_ARENA=malloc). Users need no compiler for it.
 * Pointer arithmetic wraps around here (-fwrapv-pointer): to LLVM, an address need not stay in one allocation.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMED(name) __asm__("llgrad.tape." name)
/* Each program that is linked may bring these functions: `make runtime` makes what is weak here linkonce_odr. */
#define SHARED(name) NAMED(name) __attribute__((weak, noinline))
#define CALLED(name) SHARED(name) __attribute__((visibility("hidden")))
#define INLINED(name) NAMED(name) __attribute__((weak, visibility("hidden"), always_inline))
#define INNER static inline __attribute__((always_inline))
#define COLD __attribute__((cold))
#define NEVER_NULL __attribute__((returns_nonnull))
#define FRESH __attribute__((malloc, returns_nonnull))
#define LIKELY(condition) __builtin_expect(condition, 1)

enum {
    ALIGNMENT = 64,
    ASKED_FROM = 1 << 20, /* bytes of a tape from which it is asked whether they may be kept: tape.ASKED_FROM */
    FIRST_SEGMENT_BYTES = 1 << 10, /* short tapes are many: what nobody reserves should cost no page */
    HUGE_PAGES_FROM = 8 << 20, /* bytes of a segment for which the system is asked for them: as much is in use by then */
    PAGE = 4096,
    MADV_HUGEPAGE = 14,
};
#define MOST_BYTES ((uint64_t)1 << 47)

enum { FAIL_MEMORY = 1, FAIL_ORDER = 2, FAIL_LOST = 11 };
__attribute__((cold, noreturn)) void llgrad_fail(int code, void *detail);

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *block, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
void free(void *block);
size_t malloc_usable_size(void *block);
char *getenv(const char *name);
unsigned long long strtoull(const char *text, char **end, int base);
int madvise(void *start, size_t bytes, int advice);

typedef void Free(void *block);

/* Which bytes of a record hold floats. */
typedef struct {
    uint64_t stride, count;
    struct {
        uint64_t offset; /* of the two bytes that the exponent is in */
        uint64_t exponent; /* its bits there */
    } at[];
} Floats;

/* What `finish` does with a block: free it, or see that its floats are zero. */
typedef struct Note {
    struct Note *next;
    void *block;
    Free *free; /* null where the block is watched */
    const Floats *floats;
    uint64_t bytes;
} Note;

/* What a throw releases. */
typedef struct {
    uint64_t count, room;
    struct {
        void *block;
        Free *free; /* null: it stays */
    } at[];
} Held;

typedef struct Segment {
    _Alignas(ALIGNMENT) struct Segment *previous;
    struct Segment *next; /* kept from before, or null */
    uint64_t bytes;
    char *top; /* when the next was entered */
    char memory[]; /* at the next multiple of ALIGNMENT */
} Segment;

/* All of it zero is an empty arena. `top` and `limit` are addresses in `segment`. */
typedef struct {
    char *top, *limit;
    Segment *segment;
    uint64_t used; /* bytes in the segments below the current one */
    uint64_t peak;
    Note *notes;
    void *of_wrapper;
    Held *held;
} Arena;

_Static_assert(sizeof(Arena) == 64, "tape.ARENA_BYTES");
_Static_assert(sizeof(Segment) == 64, "tape.HEADER_BYTES");

#if EACH_BLOCK_ITS_OWN
/* Not noalias by itself: `release` reaches blocks above its own through the arena, and LLVM would move loads past it. */
void *reserve(Arena *arena, uint64_t bytes) CALLED("reserve") NEVER_NULL;
void release(Arena *arena, void *block) CALLED("release");
#else
void *reserve(Arena *arena, uint64_t bytes) INLINED("reserve") NEVER_NULL;
void release(Arena *arena, void *block) INLINED("release");
void *grow(Arena *arena, uint64_t bytes) CALLED("grow") COLD NEVER_NULL;
void shrink(Arena *arena, void *block) CALLED("shrink");
#endif
char *column(char *block, uint64_t offset, uint64_t number) INLINED("column");
uint64_t used(Arena *arena) CALLED("used");
void free_all(Arena *arena) SHARED("free");
void clear(Arena *arena) CALLED("clear");
Arena *take(void) CALLED("take") FRESH;
void give(Arena *arena) CALLED("give");
void abandon(Arena *arena) CALLED("abandon");
void defer(Arena *arena, void *block, Free *free) CALLED("defer");
void watch(Arena *arena, void *primal, void *shadow, const Floats *floats, bool later) CALLED("watch");
bool search(const char *block, const Floats *floats, uint64_t bytes) CALLED("search");
void note(Arena *arena, void *block, Free *free, const Floats *floats, uint64_t bytes) CALLED("note");
void finish(Arena *arena) CALLED("finish");
void settle(Arena *arena, bool whole) CALLED("settle");
uint64_t hold(Arena *arena, void *block, Free *free) CALLED("hold");
void arm(Arena *arena, uint64_t n, void *block, Free *free) CALLED("arm");
bool holds(Arena *arena, void *block) CALLED("holds");
void drop(Arena *arena, void *block) CALLED("drop");

INNER void *allocated(void *block)
{
    if (!block) llgrad_fail(FAIL_MEMORY, NULL);
    return block;
}

INNER uint64_t padded(uint64_t bytes) { return (bytes + ALIGNMENT - 1) & -(uint64_t)ALIGNMENT; }
INNER uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

#if EACH_BLOCK_ITS_OWN

/* Before a block. The arena's `top` is the newest block. */
typedef struct {
    _Alignas(ALIGNMENT) char *older;
    uint64_t bytes;
} Header;

void *reserve(Arena *arena, uint64_t bytes)
{
    if (bytes > MOST_BYTES) llgrad_fail(FAIL_MEMORY, NULL);
    Header *header = allocated(aligned_alloc(ALIGNMENT, sizeof(Header) + padded(bytes)));
    header->older = arena->top;
    header->bytes = bytes;
    arena->top = (char *)(header + 1);
    arena->used += bytes;
    arena->peak = larger(arena->peak, arena->used);
    return arena->top;
}

void release(Arena *arena, void *block)
{
    __asm__ volatile("" : : "r"(block) : "memory"); /* as if it were read here: see tape.own */
    char *top;
    do {
        top = arena->top;
        if (!top) llgrad_fail(FAIL_ORDER, block);
        Header *header = (Header *)top - 1;
        arena->used -= header->bytes;
        arena->top = header->older;
        free(header);
    } while (top != block);
}

uint64_t used(Arena *arena) { return arena->used; }

void free_all(Arena *arena)
{
    clear(arena);
    while (arena->top) release(arena, arena->top);
}

#else

INNER uint64_t in_use(const Segment *segment, const char *top) { return (uint64_t)top - (uint64_t)segment; }

INNER bool lies_in(const char *block, const Segment *segment, const char *top)
{
    return ((uint64_t)block > (uint64_t)segment) & ((uint64_t)block <= (uint64_t)top);
}

void *reserve(Arena *arena, uint64_t bytes)
{
    char *top = arena->top;
    /* Rooms are multiples of ALIGNMENT: where `bytes` fits, so does `padded(bytes)`, which has not wrapped around. */
    bool fits = bytes <= (uint64_t)arena->limit - (uint64_t)top;
    if (LIKELY(fits & (top != NULL))) {
        arena->top = top + padded(bytes);
        return top;
    }
    return grow(arena, bytes);
}

/* The next segment, kept from before, if it has room; else it is dropped, with all that follow. */
INNER Segment *next_with_room(Segment *segment, uint64_t room)
{
    if (!segment || segment->bytes >= room) return segment;
    while (segment) {
        Segment *next = segment->next;
        free(segment);
        segment = next;
    }
    return NULL;
}

INNER void ask_for_huge_pages(Segment *segment)
{
    char *page = (char *)(((uint64_t)segment + PAGE - 1) & -(uint64_t)PAGE);
    uint64_t behind = segment->bytes - ((uint64_t)page - (uint64_t)segment);
    madvise(page, behind & -(uint64_t)PAGE, MADV_HUGEPAGE); /* a hint, that may fail */
}

/* Twice what is in use, at least the first segment's size, and room for small blocks that follow. */
INNER Segment *new_segment(Segment *previous, uint64_t size, uint64_t in_use)
{
    uint64_t more = size >> 4 < 65536 ? size >> 4 : 65536;
    uint64_t bytes = padded(larger(larger(size + more + 512, in_use), FIRST_SEGMENT_BYTES));
    Segment *made = allocated(aligned_alloc(ALIGNMENT, bytes));
    made->previous = previous;
    made->next = NULL;
    made->bytes = bytes;
    if (bytes >= HUGE_PAGES_FROM) ask_for_huge_pages(made);
    if (previous) previous->next = made;
    return made;
}

void *grow(Arena *arena, uint64_t bytes)
{
    if (bytes > MOST_BYTES) llgrad_fail(FAIL_MEMORY, NULL);
    uint64_t size = padded(bytes);
    Segment *left = arena->segment, *next = NULL;
    if (left) {
        left->top = arena->top;
        arena->used += in_use(left, left->top);
        next = next_with_room(left->next, size + sizeof(Segment));
    }
    if (!next) next = new_segment(left, size, arena->used);
    arena->segment = next;
    arena->limit = (char *)next + next->bytes;
    arena->top = (char *)(next + 1) + size;
    return next + 1;
}

void release(Arena *arena, void *block)
{
    /* the peak is always reached just before a release */
    arena->peak = larger(arena->used + in_use(arena->segment, arena->top), arena->peak);
    if (LIKELY(lies_in(block, arena->segment, arena->top)))
        arena->top = block;
    else
        shrink(arena, block);
}

/* Go down the segments to the one that holds the block. */
void shrink(Arena *arena, void *block)
{
    Segment *segment = arena->segment;
    char *top = arena->top;
    uint64_t used = arena->used;
    while (!lies_in(block, segment, top)) {
        segment = segment->previous;
        if (!segment) llgrad_fail(FAIL_ORDER, block);
        top = segment->top;
        used -= in_use(segment, top);
    }
    arena->top = block;
    arena->segment = segment;
    arena->used = used;
    arena->limit = (char *)segment + segment->bytes;
}

/* Give every segment back, those kept for later too. */
void free_all(Arena *arena)
{
    clear(arena);
    Segment *segment = arena->segment;
    while (segment && segment->next) segment = segment->next;
    while (segment) {
        Segment *previous = segment->previous;
        free(segment);
        segment = previous;
    }
    arena->top = arena->limit = NULL;
    arena->segment = NULL;
    arena->used = 0;
}

uint64_t used(Arena *arena) { return arena->used + in_use(arena->segment, arena->top); }

#endif

/* One arena is kept for the next derivative, whichever thread asks for it; others are freed (no TLS: decision 1). */
Arena *_Atomic kept NAMED("kept") __attribute__((weak, visibility("hidden")));

Arena *take(void)
{
    Arena *found = __c11_atomic_exchange(&kept, NULL, __ATOMIC_ACQUIRE);
    return found ? found : allocated(calloc(1, sizeof(Arena)));
}

/* A tape beyond so many MiB is not kept; who reads the environment has a large one. */
INNER bool is_too_large(uint64_t bytes)
{
    if (bytes <= ASKED_FROM) return false;
    const char *most = getenv("LLGRAD_TAPE_KEEP");
    return most && bytes >> 20 >= strtoull(most, NULL, 10);
}

void give(Arena *arena)
{
    if (!is_too_large(arena->peak)) arena = __c11_atomic_exchange(&kept, arena, __ATOMIC_ACQ_REL);
    if (arena) abandon(arena);
}

void abandon(Arena *arena)
{
    free_all(arena);
    free(arena);
}

void defer(Arena *arena, void *block, Free *free) { note(arena, block, free, NULL, 0); }

void watch(Arena *arena, void *primal, void *shadow, const Floats *floats, bool later)
{
    if (!primal || !shadow) return;
    uint64_t bytes = malloc_usable_size(primal);
    if (bytes % 16 == 8) bytes -= 8; /* glibc gives out blocks of 16 n + 8 bytes: the last word may be nobody's */
    if (later && search(shadow, floats, bytes)) return;
    note(arena, shadow, NULL, floats, bytes);
}

/* Is a float there that is neither zero nor subnormal, infinite or NaN? */
bool search(const char *block, const Floats *floats, uint64_t bytes)
{
    for (uint64_t record = 0; record < bytes; record += floats->stride)
        for (uint64_t n = 0; n < floats->count; n++) {
            uint64_t at = record + floats->at[n].offset, bits = floats->at[n].exponent;
            if (at + 2 > bytes) continue;
            uint16_t found;
            __builtin_memcpy(&found, block + at, 2);
            if ((found & bits) != 0 && (found & bits) != bits) return true;
        }
    return false;
}

void note(Arena *arena, void *block, Free *free, const Floats *floats, uint64_t bytes)
{
    Note *made = allocated(malloc(sizeof(Note)));
    *made = (Note){arena->notes, block, free, floats, bytes};
    arena->notes = made;
}

void finish(Arena *arena) { settle(arena, true); }

/* Release all that is held and deferred; where the adjoints are `whole`, see that none is lost. */
void settle(Arena *arena, bool whole)
{
    drop(arena, (void *)-1);
    Note *next = arena->notes;
    arena->notes = NULL;
    while (next) {
        Note it = *next;
        free(next);
        next = it.next;
        if (it.free)
            it.free(it.block);
        else if (whole && search(it.block, it.floats, it.bytes))
            llgrad_fail(FAIL_LOST, NULL);
    }
}

uint64_t hold(Arena *arena, void *block, Free *free)
{
    Held *held = arena->held;
    uint64_t n = held ? held->count : 0;
    if (!held || n >= held->room) {
        uint64_t room = 2 * n + 63;
        held = allocated(realloc(held, sizeof(Held) + room * sizeof held->at[0]));
        held->room = room;
        arena->held = held;
    }
    held->count = n + 1;
    held->at[n].block = block;
    held->at[n].free = free;
    return n;
}

void arm(Arena *arena, uint64_t n, void *block, Free *free) { arena->held->at[n].free = free; }

bool holds(Arena *arena, void *block)
{
    Held *held = arena->held;
    for (uint64_t n = held ? held->count : 0; n-- > 0;)
        if (held->at[n].block == block && held->at[n].free) return true;
    return false;
}

void drop(Arena *arena, void *block)
{
    Held *held = arena->held;
    while (held && held->count) {
        uint64_t n = --held->count;
        void *dropped = held->at[n].block;
        if (held->at[n].free) held->at[n].free(dropped);
        if (dropped == block) return;
    }
}

/* All that is held and deferred, as a throw or a failure left it: what adjoints there are is not all. */
void clear(Arena *arena)
{
    settle(arena, false);
    free(arena->held);
    arena->held = NULL;
}

char *column(char *block, uint64_t offset, uint64_t number) { return block + offset; }

#include "team.h"
