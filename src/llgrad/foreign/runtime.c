/* Compiled code and its derivatives, run on addresses: the same way from every framework, with no Python in between.
 *
 * A plan says how the frame of an entry (see entry.py) is filled from buffers, and what is read from it afterwards.
 * Buffers are numbered: first the caller's, then temporary ones, which are made here. A batch runs a plan once an item;
 * the caller's buffers advance by their strides (0: shared), the temporary ones are reused, and long batches are spread
 * over threads. Arenas (the tapes) and temporary memory belong to a plan, are kept, and serve whichever thread comes.
 * A plan that records leaves its space, with the tape in it, to its caller; another plan replays it, as often as wanted,
 * with the same temporary memory and with an arena of its own.
 * Where sizes are to be checked, the frame holds the check of the function, which the entry asks (docs/memory-checks.md).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime.h"

enum { POINTER, VALUE, CLEAR, COPY, APART, ARENA, RESULT, AFTER, KEEP, FRAME, SIZE };
enum { CHECK_AT = 480, ARENA_BYTES = 64, KEPT = 64, ROUND = 64, OWN_BYTES = 512, FAULT_AT = 408 };
enum { FAILED_MEMORY = 3, UNPROVEN = 5, FAULTED = 6, OVERWRITTEN = 7 };
static const int64_t GUARD = 1 << 30; /* bytes of inaccessible memory on either side */
static const uint64_t OF_DOUBLES = 0xFFF5A5A5A5A5A5A5, OF_FLOATS = 0xFFB5A5A5FFB5A5A5; /* signalling NaNs */

typedef struct {
    int32_t op, buffer, other, size; /* size: bytes of a value */
    int64_t at, offset;              /* at: in the frame; offset: in the buffer */
} Step;

/* Accessible pages with inaccessible ones around them. A buffer lies at their end, and a canary beside it. */
typedef struct {
    char *whole, *start, *end, *low, *high; /* the pages; in them the buffer */
    int64_t size;                           /* of all */
    uint64_t canary;
} Room;

typedef struct {
    char arena[ARENA_BYTES]; /* first: its address is the arena's */
    char *memory;            /* temporary buffers */
    int64_t bytes, frame;    /* frame: of a tape that was recorded */
    uint64_t mask;           /* what was guarded then */
    Room *rooms;             /* for each buffer, once there was one */
} Space;

/* How sizes are checked. `owner`: of each buffer, which pointer of the check it belongs to, or -1; `item`: bytes of its
 * elements. `check`: 0 where all is unproven; `block`: in the frame. `steady`: the answer depends on sizes and integers
 * alone. `pointers`, `places`: what messages call them. */
typedef struct {
    int64_t check, block, alignment;
    int64_t steady;
    const int32_t *owner, *item;
    const char *const *pointers, *const *places;
} Sizes;

typedef struct {
    int32_t (*entry)(void *frame);
    void (*release)(void *arena);
    int64_t frame_bytes;
    int32_t callers, made, buffers, steps, serial; /* made: how many of the caller's buffers, the last, are written */
    Sizes sizes;
    pthread_mutex_t lock;
    int32_t kept;
    Space *spaces[KEPT];
    Step step[];
} Plan;

typedef struct {
    void *frame;
    Failure *failure;
} Call;

typedef struct {
    Plan *plan;
    char **addresses;
    const int64_t *bytes, *strides;
    int64_t first, end;
    uint64_t mask, behind; /* known to be unproven, in every item; of these, what may be left at its end */
    Space *held; /* what was recorded, if this is a replay */
    int keep;    /* leave the space in `held`: this records */
    Failure failure;
} Batch;

static pthread_key_t innermost; /* the Call that runs on this thread */
static pthread_mutex_t serial = PTHREAD_MUTEX_INITIALIZER;
void *(*llgrad_python_hook)(int32_t code, void *detail);
int32_t (*llgrad_guarded)(void *entry, void *frame, void *own); /* `programs.guarded_memory` has it */

int32_t llgrad_start(void) { return pthread_key_create(&innermost, NULL); }

/* A child process has one thread: nobody else holds the lock. */
void llgrad_forked(void) { pthread_mutex_init(&serial, NULL); }

/* What llgrad_fail calls: notes the failure and gives the frame to jump to. */
void *llgrad_hook(int32_t code, void *detail)
{
    Call *call = pthread_getspecific(innermost);
    if (!call)
        return llgrad_python_hook(code, detail);
    call->failure->code = code;
    call->failure->detail = (int64_t)(intptr_t)detail;
    return call->frame;
}

Plan *llgrad_plan(void *entry, void *release, int64_t frame_bytes, int32_t callers, int32_t made,
                  int32_t buffers, const Step *step, int32_t steps, int32_t is_serial, const Sizes *sizes)
{
    Plan *plan = calloc(1, sizeof *plan + (size_t)steps * sizeof *step);
    if (!plan)
        return NULL;
    plan->entry = (int32_t (*)(void *))entry;
    plan->release = (void (*)(void *))release;
    plan->frame_bytes = frame_bytes;
    plan->callers = callers;
    plan->made = made;
    plan->buffers = buffers;
    plan->steps = steps;
    plan->serial = is_serial;
    plan->sizes = *sizes;
    pthread_mutex_init(&plan->lock, NULL);
    memcpy(plan->step, step, (size_t)steps * sizeof *step);
    return plan;
}

static void ended(Plan *plan, Space *space)
{
    if (plan->release)
        plan->release(space->arena);
    for (int32_t n = 0; space->rooms && n < plan->buffers; n++)
        if (space->rooms[n].whole)
            munmap(space->rooms[n].whole, (size_t)space->rooms[n].size);
    free(space->rooms);
    free(space->memory);
    free(space);
}

void llgrad_drop(Plan *plan)
{
    while (plan->kept)
        ended(plan, plan->spaces[--plan->kept]);
    pthread_mutex_destroy(&plan->lock);
    free(plan);
}

/* A space with so much temporary memory; NULL where there is none. */
static Space *taken(Plan *plan, int64_t bytes)
{
    Space *space = NULL;
    pthread_mutex_lock(&plan->lock);
    if (plan->kept)
        space = plan->spaces[--plan->kept];
    pthread_mutex_unlock(&plan->lock);
    if (!space && !(space = calloc(1, sizeof *space)))
        return NULL;
    if (space->bytes < bytes) {
        free(space->memory);
        space->memory = aligned_alloc(ROUND, (size_t)bytes);
        space->bytes = space->memory ? bytes : 0;
    }
    if (space->bytes >= bytes)
        return space;
    ended(plan, space);
    return NULL;
}

static void given(Plan *plan, Space *space, int failed)
{
    if (failed && plan->release) {
        plan->release(space->arena);
        memset(space->arena, 0, ARENA_BYTES);
    }
    pthread_mutex_lock(&plan->lock);
    int keep = plan->kept < KEPT;
    if (keep)
        plan->spaces[plan->kept++] = space;
    pthread_mutex_unlock(&plan->lock);
    if (!keep)
        ended(plan, space);
}

static int64_t rounded(int64_t n) { return (n + ROUND - 1) / ROUND * ROUND; }

/* --- guarded calls
 *
 * Where it is not proven that code stays within its arrays, the buffers in question lie in rooms of their own: an access
 * behind them faults, and the canary beside them must be the same after the call.
 */
static int is_asked(const Batch *b) { return b->bytes[b->plan->buffers] != 0; }

static int is_moved(const Plan *plan, int32_t n, uint64_t mask)
{
    return plan->sizes.owner[n] >= 0 && mask >> plan->sizes.owner[n] & 1;
}

static int is_input(const Plan *plan, int32_t n) { return n < plan->callers - plan->made; }

/* Temporary buffers first: those, and inputs, are a replay's as they were the record's. */
static Room *room_of(const Plan *plan, const Space *space, int32_t n)
{
    return &space->rooms[n < plan->callers ? plan->buffers - plan->callers + n : n - plan->callers];
}

static int mapped(Room *r, int64_t pages)
{
    for (int64_t guard = GUARD; guard >= GUARD >> 10; guard >>= 10) { /* a limit on address space has room for small ones */
        int64_t size = pages + 2 * guard;
        char *at = mmap(NULL, (size_t)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            continue;
        if (!pages || !mprotect(at + guard, (size_t)pages, PROT_READ | PROT_WRITE)) {
            *r = (Room){at, at + guard, at + guard + pages, NULL, NULL, size, 0};
            return 1;
        }
        munmap(at, (size_t)size);
    }
    return 0;
}

static unsigned char canary_at(const Room *r, const char *p)
{
    return (unsigned char)(r->canary >> 8 * ((uintptr_t)p % 8));
}

/* A place for so many bytes, at the end of the pages, or at their start; 0 where there is no memory. */
static int prepared(Room *r, int64_t bytes, int64_t alignment, uint64_t canary, int at_end)
{
    int64_t page = sysconf(_SC_PAGESIZE), pages = (bytes + alignment - 1 + page - 1) / page * page;
    if (!r->whole || r->end - r->start != pages) {
        if (r->whole)
            munmap(r->whole, (size_t)r->size);
        r->whole = NULL;
        if (!mapped(r, pages))
            return 0;
    }
    char *low = at_end ? (char *)((uintptr_t)(r->end - bytes) & ~(uintptr_t)(alignment - 1)) : r->start;
    if (low == r->low && low + bytes == r->high && canary == r->canary)
        return 1; /* nothing was changed there: that was tested */
    r->low = low;
    r->high = low + bytes;
    r->canary = canary;
    for (char *p = r->start; p < r->end; p = p + 1 == low ? r->high : p + 1)
        if (p < low || p >= r->high)
            *p = (char)canary_at(r, p);
    return 1;
}

static int is_intact(const Room *r)
{
    for (const char *p = r->start; p < r->low; p++)
        if ((unsigned char)*p != canary_at(r, p))
            return 0;
    for (const char *p = r->high; p < r->end; p++)
        if ((unsigned char)*p != canary_at(r, p))
            return 0;
    return 1;
}

/* Puts the buffers in question into rooms, of a replay those of the record; what the code reads is copied, but what was
 * `there` already. 0 where there is no memory. */
static int moved(const Batch *b, Space *space, char **at, uint64_t mask, int there)
{
    const Plan *plan = b->plan;
    if (!space->rooms && !(space->rooms = calloc((size_t)plan->buffers + 1, sizeof *space->rooms)))
        return 0;
    for (int32_t n = 0; n < plan->buffers; n++) {
        if (!is_moved(plan, n, mask))
            continue;
        Room *r = room_of(plan, space, n);
        uint64_t canary = plan->sizes.item[n] == 4 ? OF_FLOATS : OF_DOUBLES;
        if (!b->held && !prepared(r, b->bytes[n], plan->sizes.alignment, canary, is_moved(plan, n, b->behind)))
            return 0;
        if (is_input(plan, n) && !b->held && !(there && (!b->strides || !b->strides[n])))
            memcpy(r->low, at[n], (size_t)b->bytes[n]);
        at[n] = r->low;
    }
    return 1;
}

/* The buffer whose room an address lies in, or -1. */
static int32_t whose(const Plan *plan, const Space *space, uint64_t mask, const char *address)
{
    int32_t n = plan->buffers - 1;
    for (; n >= 0; n--) {
        const Room *r = is_moved(plan, n, mask) ? room_of(plan, space, n) : NULL;
        if (r && address >= r->whole && address < r->whole + r->size)
            break;
    }
    return n;
}

/* The first buffer beside which something was written, or -1. */
static int32_t overwritten(const Plan *plan, const Space *space, uint64_t mask)
{
    for (int32_t n = 0; n < plan->buffers; n++)
        if (is_moved(plan, n, mask) && !is_intact(room_of(plan, space, n)))
            return n;
    return -1;
}

static int64_t space_bytes(const Batch *b)
{
    int64_t total = 0;
    for (int32_t n = b->plan->callers; n < b->plan->buffers; n++)
        total += rounded(b->bytes[n]);
    return total;
}

/* Notes where code went wrong that left buffer `n` (-1: nobody knows), and forgets what lies in rooms. */
static void left(Failure *failure, const Plan *plan, Space *space, uint64_t mask, int32_t n, char *address)
{
    failure->code = n < 0 ? -1 : plan->sizes.owner[n];
    failure->name = n < 0 ? NULL : plan->sizes.pointers[failure->code];
    if (n >= 0 && address) {
        int64_t away = address - room_of(plan, space, n)->low, item = plan->sizes.item[n];
        failure->detail = away >= 0 ? away / item : -((item - 1 - away) / item);
    } else
        failure->detail = (int64_t)(intptr_t)address;
    for (int32_t m = 0; m < plan->buffers; m++)
        if (is_moved(plan, m, mask))
            room_of(plan, space, m)->low = NULL;
}

/* Does buffer `n` share memory with one before it? Then it moves to a copy: the code was promised that none do. */
static char *apart(const Step *s, char **at, const int64_t *bytes)
{
    char *p = at[s->buffer];
    int64_t size = bytes[s->buffer];
    for (int32_t m = 0; m < s->buffer; m++)
        if (size && bytes[m] && p < at[m] + bytes[m] && at[m] < p + size)
            return memcpy(at[s->other], p, (size_t)size);
    return p;
}

static void fill(const Plan *plan, char *frame, char **at, const int64_t *bytes, void *arena, const Space *space)
{
    for (int32_t n = 0; n < plan->steps; n++) {
        const Step *s = &plan->step[n];
        switch (s->op) {
        case POINTER: memcpy(frame + s->at, &at[s->buffer], sizeof(char *)); break;
        case VALUE: memcpy(frame + s->at, at[s->buffer] + s->offset, (size_t)s->size); break;
        case CLEAR: memset(at[s->buffer], 0, (size_t)bytes[s->buffer]); break;
        case COPY: memcpy(at[s->buffer], at[s->other], (size_t)bytes[s->buffer]); break;
        case APART: at[s->buffer] = apart(s, at, bytes); break;
        case ARENA: memcpy(frame + s->at, &arena, sizeof arena); break;
        case FRAME: memcpy(frame + s->at, &space->frame, sizeof space->frame); break;
        case SIZE: memcpy(frame + s->at, &bytes[s->buffer], sizeof *bytes); break;
        default: break;
        }
    }
}

static void read_results(const Plan *plan, const char *frame, char **at, const int64_t *bytes, Space *space)
{
    for (int32_t n = 0; n < plan->steps; n++) {
        const Step *s = &plan->step[n];
        switch (s->op) {
        case RESULT: memcpy(at[s->buffer] + s->offset, frame + s->at, (size_t)s->size); break;
        case AFTER: memcpy(at[s->buffer], at[s->other], (size_t)bytes[s->buffer]); break;
        case KEEP: memcpy(&space->frame, frame + s->at, sizeof space->frame); break;
        default: break;
        }
    }
}

/* Runs one item, with the buffers of `mask` in rooms; `there`: so did the one before. */
static int32_t run_item(Batch *b, char *frame, int64_t i, Space *space, Space *held, uint64_t mask, int there)
{
    Plan *plan = b->plan;
    char *at[plan->buffers + 1], *asked[plan->callers + 1], *next = held->memory, own[OWN_BYTES];
    for (int32_t n = 0; n < plan->callers; n++)
        asked[n] = at[n] = b->addresses[n] + (b->strides ? i * b->strides[n] : 0);
    for (int32_t n = plan->callers; n < plan->buffers; n++) {
        at[n] = next;
        next += rounded(b->bytes[n]);
    }
    if (mask && !moved(b, held, at, mask, there))
        return FAILED_MEMORY;
    fill(plan, frame, at, b->bytes, space->arena, held);
    int64_t check = is_asked(b) && !mask && !b->held ? plan->sizes.check : 0;
    memcpy(frame + CHECK_AT, &check, sizeof check);
    if (plan->serial)
        pthread_mutex_lock(&serial);
    int32_t status = mask ? llgrad_guarded((void *)plan->entry, frame, own) : plan->entry(frame);
    if (plan->serial)
        pthread_mutex_unlock(&serial);
    if (status == FAULTED && mask) {
        char *address;
        memcpy(&address, own + FAULT_AT, sizeof address);
        left(&b->failure, plan, held, mask, whose(plan, held, mask, address), address);
    }
    int32_t wrong = mask && !status ? overwritten(plan, held, mask) : -1;
    if (wrong >= 0) {
        left(&b->failure, plan, held, mask, wrong, NULL);
        return OVERWRITTEN;
    }
    if (status)
        return status;
    read_results(plan, frame, at, b->bytes, held);
    for (int32_t n = plan->callers - plan->made; n < plan->callers; n++)
        if (at[n] != asked[n])
            memcpy(asked[n], at[n], (size_t)b->bytes[n]);
    return 0;
}

/* The same; where the check cannot tell whether all fits, in rooms. */
static int32_t run_checked(Batch *b, char *frame, int64_t i, Space *space, Space *held)
{
    const Sizes *sizes = &b->plan->sizes;
    uint64_t mask = b->held ? held->mask : b->mask;
    if (mask)
        return run_item(b, frame, i, space, held, mask, i > b->first);
    int32_t status = run_item(b, frame, i, space, held, 0, 0);
    if (status == EXCEEDS) {
        int64_t told[3];
        memcpy(told, frame + sizes->block, sizeof told);
        b->failure.code = (int32_t)told[0];
        b->failure.detail = told[1];
        b->failure.end = told[2];
        b->failure.name = sizes->places[told[0]];
    }
    if (status != UNPROVEN)
        return status;
    memcpy(&mask, frame + sizes->block, sizeof mask);
    memcpy(&b->behind, frame + sizes->block + sizeof mask, sizeof b->behind);
    if (sizes->steady)
        b->mask = mask;
    held->mask = mask;
    return run_item(b, frame, i, space, held, mask, 0);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs items [first, end), or as many as `seconds` allow; where it stopped. */
static int64_t run_items(Batch *b, double seconds)
{
    Plan *plan = b->plan;
    Space *space = taken(plan, b->held ? 0 : space_bytes(b)), *held = b->held ? b->held : space;
    if (!space) {
        b->failure.status = FAILED_MEMORY;
        return b->first;
    }
    _Alignas(16) char frame[plan->frame_bytes];
    Call call = {frame, &b->failure}, *outer = pthread_getspecific(innermost);
    pthread_setspecific(innermost, &call);
    memset(frame, 0, sizeof frame);
    if (is_asked(b) && !plan->sizes.check)
        b->mask = b->behind = ~0ull;
    if (!b->held)
        held->mask = b->mask;
    double started = seconds > 0 ? now() : 0;
    int64_t i = b->first;
    for (; i < b->end && !b->failure.status; i++) {
        if (seconds > 0 && i > b->first && now() - started > seconds)
            break;
        b->failure.status = run_checked(b, frame, i, space, held);
    }
    pthread_setspecific(innermost, outer);
    if (b->keep && !b->failure.status)
        b->held = space;
    else
        given(plan, space, b->failure.status != 0);
    return i;
}

static void *run_part(void *batch)
{
    run_items(batch, 0);
    return NULL;
}

static void run_parts(Batch whole, int64_t parts, Failure *failure)
{
    Batch part[parts];
    pthread_t thread[parts];
    int started[parts];
    int64_t count = whole.end - whole.first;
    for (int64_t n = 0; n < parts; n++) {
        part[n] = whole;
        part[n].first = whole.first + count * n / parts;
        part[n].end = whole.first + count * (n + 1) / parts;
        started[n] = n && !pthread_create(&thread[n], NULL, run_part, &part[n]);
    }
    for (int64_t n = 0; n < parts; n++)
        if (!started[n])
            run_items(&part[n], 0);
    for (int64_t n = 0; n < parts; n++) {
        if (started[n])
            pthread_join(thread[n], NULL);
        if (part[n].failure.status && !failure->status)
            *failure = part[n].failure;
    }
}

/* Runs a plan `count` times; 0, or the status of the first failure found. A batch starts on this thread, and goes on
 * with others if what is left would take longer than starting them. */
int32_t llgrad_run(void *given, char **addresses, const int64_t *bytes, const int64_t *strides, int64_t count,
                   int64_t threads, Failure *failure)
{
    enum { MOST_THREADS = 256 };
    Plan *plan = given;
    Batch b = {plan, addresses, bytes, strides, 0, count, 0, 0, NULL, 0, {0, 0, 0, 0, NULL}};
    int spread = threads > 1 && count > 1 && !plan->serial;
    b.first = run_items(&b, spread ? 2e-4 : 0);
    *failure = b.failure;
    if (!failure->status && b.first < b.end) {
        int64_t left = b.end - b.first, parts = threads < left ? threads : left;
        run_parts(b, parts < MOST_THREADS ? parts : MOST_THREADS, failure);
    }
    return failure->status;
}

/* Runs a plan once and leaves its tape and temporary memory in `held`. */
int32_t llgrad_record(void *plan, char **addresses, const int64_t *bytes, void **held, Failure *failure)
{
    Batch b = {plan, addresses, bytes, NULL, 0, 1, 0, 0, NULL, 1, {0, 0, 0, 0, NULL}};
    run_items(&b, 0);
    *held = b.held;
    *failure = b.failure;
    return failure->status;
}

/* Runs a plan on what another one recorded; one thread at a time for each record. */
int32_t llgrad_replay(void *plan, char **addresses, const int64_t *bytes, void *held, Failure *failure)
{
    Batch b = {plan, addresses, bytes, NULL, 0, 1, 0, 0, held, 0, {0, 0, 0, 0, NULL}};
    run_items(&b, 0);
    *failure = b.failure;
    return failure->status;
}

/* Frees what a plan recorded. */
void llgrad_forget(void *plan, void *held) { given(plan, held, 1); }

/* --- plans by their keys: for kernels, which find in their attributes which plan to run --------------------------- */

typedef struct {
    int64_t key, before;
    void *plan;
} Known;

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static Known *known;
static int64_t knowns, room;

/* 0, or 1 where there is no memory. Plans that are registered are never dropped. */
int32_t llgrad_register(int64_t key, int64_t before, void *plan)
{
    int32_t failed = 0;
    pthread_mutex_lock(&known_lock);
    if (knowns == room) {
        int64_t more = room ? 2 * room : 64;
        Known *moved = realloc(known, (size_t)more * sizeof *known);
        failed = !moved;
        known = moved ? moved : known;
        room = moved ? more : room;
    }
    if (!failed)
        known[knowns++] = (Known){key, before, plan};
    pthread_mutex_unlock(&known_lock);
    return failed;
}

static void *found(int64_t key, int64_t *before)
{
    void *plan = NULL;
    pthread_mutex_lock(&known_lock);
    for (int64_t n = 0; n < knowns && !plan; n++)
        if (known[n].key == key) {
            plan = known[n].plan;
            *before = known[n].before;
        }
    pthread_mutex_unlock(&known_lock);
    return plan;
}

static const char *message(const Failure *failure, int *memory, char *text)
{
    enum { THREW = 2, NO_MEMORY = 1 };
    int told = failure->status >= EXCEEDS && failure->status <= OVERWRITTEN;
    *memory = failure->status == FAILED_MEMORY || (!told && failure->status != THREW && failure->code == NO_MEMORY);
    if (*memory)
        return "llgrad: the tape or temporary buffers need more memory than there is; use a smaller input";
    if (!told)
        return failure->status == THREW
                   ? "llgrad: the compiled code threw a C++ exception; catch it in the code and return a status"
                   : "llgrad: the derivative failed while it ran";
    const char *fix = "; pass arrays as long as the code takes them to be, or declare larger outputs";
    if (!failure->name)
        snprintf(text, MESSAGE_BYTES, "llgrad: the compiled code accessed memory that does not exist%s", fix);
    else if (failure->status == EXCEEDS)
        snprintf(text, MESSAGE_BYTES, "llgrad: bytes %lld to %lld, %s, lie outside of it%s", (long long)failure->detail,
                 (long long)failure->end, failure->name, fix);
    else if (failure->status == OVERWRITTEN)
        snprintf(text, MESSAGE_BYTES, "llgrad: the compiled code wrote beside %s%s", failure->name, fix);
    else
        snprintf(text, MESSAGE_BYTES, "llgrad: the compiled code accessed element %lld of %s, which has fewer%s",
                 (long long)failure->detail, failure->name, fix);
    return text;
}

Runtime llgrad_runtime = {found, llgrad_run, message, 1};
