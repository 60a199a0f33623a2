/* Compiled code and its derivatives, run on addresses: the same way from every framework, with no Python in between.
 *
 * A plan says how the frame of an entry (see entry.py) is filled from buffers, and what is read from it afterwards.
 * Buffers are numbered: first the caller's, then temporary ones, which are made here. A batch runs a plan once an item;
 * the caller's buffers advance by their strides (0: shared), the temporary ones are reused, and long batches are spread
 * over threads. Arenas (the tapes) and temporary memory belong to a plan, are kept, and serve whichever thread comes.
 * A plan that records leaves its space, with the tape in it, to its caller; another plan replays it, as often as wanted,
 * with the same temporary memory and with an arena of its own.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime.h"

enum { POINTER, VALUE, CLEAR, COPY, APART, ARENA, RESULT, AFTER, KEEP, FRAME };
enum { ARENA_BYTES = 64, KEPT = 64, ROUND = 64, FAILED_MEMORY = 3, FAILED_BOUNDS = 6 };
enum { GAP = 4096, CANARY = 0x01 }; /* as a float of any format so small that nothing can be added unseen */

typedef struct {
    int32_t op, buffer, other, size; /* size: bytes of a value */
    int64_t at, offset;              /* at: in the frame; offset: in the buffer */
} Step;

typedef struct {
    char arena[ARENA_BYTES]; /* first: its address is the arena's */
    char *memory;            /* temporary buffers */
    int64_t bytes, frame;    /* frame: of a tape that was recorded */
} Space;

typedef struct {
    int32_t (*entry)(void *frame);
    void (*release)(void *arena);
    int64_t frame_bytes;
    int32_t callers, made, buffers, steps, serial; /* made: how many of the caller's buffers, the last, are written */
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
    Space *held; /* what was recorded, if this is a replay */
    int keep;    /* leave the space in `held`: this records */
    Failure failure;
} Batch;

static pthread_key_t innermost; /* the Call that runs on this thread */
static pthread_mutex_t serial = PTHREAD_MUTEX_INITIALIZER;
void *(*llgrad_python_hook)(int32_t code, void *detail);

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
                  int32_t buffers, const Step *step, int32_t steps, int32_t is_serial)
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
    pthread_mutex_init(&plan->lock, NULL);
    memcpy(plan->step, step, (size_t)steps * sizeof *step);
    return plan;
}

static void ended(Plan *plan, Space *space)
{
    if (plan->release)
        plan->release(space->arena);
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
 * Where it is not known that code stays within its arrays, all memory that it may write lies in the space, temporary
 * buffers first, then what stands for the caller's (but in sweeps that share a tape: those write temporary memory only).
 * Before, between and behind them are gaps that must hold after the call what they held before.
 */
static int is_guarded(const Batch *b) { return b->bytes[b->plan->buffers] != 0; }

/* The buffer that lies at place `n` of the space; -1 behind the last. */
static int32_t placed(const Batch *b, int32_t n)
{
    const Plan *plan = b->plan;
    int32_t temporary = plan->buffers - plan->callers;
    if (n < temporary)
        return plan->callers + n;
    int moved = is_guarded(b) && !b->keep && !b->held;
    return moved && n < temporary + plan->made ? plan->callers - plan->made + n - temporary : -1;
}

static int64_t space_bytes(const Batch *b)
{
    int64_t gap = is_guarded(b) ? GAP : 0, total = gap;
    for (int32_t n = 0, at; (at = placed(b, n)) >= 0; n++)
        total += rounded(b->bytes[at]) + gap;
    return total;
}

static int is_intact(const char *from, const char *end)
{
    for (; from < end; from++)
        if (*(const unsigned char *)from != CANARY)
            return 0;
    return 1;
}

/* Has nothing been written in the gaps? */
static int are_intact(const Batch *b, const char *memory)
{
    const char *gap = memory, *next = memory + GAP;
    for (int32_t n = 0, at; (at = placed(b, n)) >= 0; n++) {
        if (!is_intact(gap, next))
            return 0;
        gap = next + b->bytes[at];
        next += rounded(b->bytes[at]) + GAP;
    }
    return is_intact(gap, next);
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
        default: break;
        }
    }
}

static void read(const Plan *plan, const char *frame, char **at, const int64_t *bytes, Space *space)
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

static int32_t run_item(Plan *plan, char *frame, char **at, const int64_t *bytes, void *arena, Space *space)
{
    fill(plan, frame, at, bytes, arena, space);
    if (plan->serial)
        pthread_mutex_lock(&serial);
    int32_t status = plan->entry(frame);
    if (plan->serial)
        pthread_mutex_unlock(&serial);
    if (!status)
        read(plan, frame, at, bytes, space);
    return status;
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
    char *at[plan->buffers + 1], *asked[plan->callers + 1];
    Call call = {frame, &b->failure}, *outer = pthread_getspecific(innermost);
    pthread_setspecific(innermost, &call);
    memset(frame, 0, sizeof frame);
    double started = seconds > 0 ? now() : 0;
    int64_t i = b->first;
    for (; i < b->end && !b->failure.status; i++) {
        if (seconds > 0 && i > b->first && now() - started > seconds)
            break;
        if (is_guarded(b) && !b->held)
            memset(held->memory, CANARY, (size_t)space_bytes(b));
        for (int32_t n = 0; n < plan->callers; n++)
            asked[n] = at[n] = b->addresses[n] + (b->strides ? i * b->strides[n] : 0);
        char *next = held->memory + (is_guarded(b) ? GAP : 0);
        for (int32_t n = 0, to; (to = placed(b, n)) >= 0; n++) {
            at[to] = next;
            next += rounded(b->bytes[to]) + (is_guarded(b) ? GAP : 0);
        }
        b->failure.status = run_item(plan, frame, at, b->bytes, space->arena, held);
        if (is_guarded(b) && !b->failure.status && !are_intact(b, held->memory))
            b->failure.status = FAILED_BOUNDS;
        for (int32_t n = plan->callers - plan->made; n < plan->callers && !b->failure.status; n++)
            if (at[n] != asked[n])
                memcpy(asked[n], at[n], (size_t)b->bytes[n]);
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
    Batch b = {plan, addresses, bytes, strides, 0, count, NULL, 0, {0, 0, 0}};
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
    Batch b = {plan, addresses, bytes, NULL, 0, 1, NULL, 1, {0, 0, 0}};
    run_items(&b, 0);
    *held = b.held;
    *failure = b.failure;
    return failure->status;
}

/* Runs a plan on what another one recorded; one thread at a time for each record. */
int32_t llgrad_replay(void *plan, char **addresses, const int64_t *bytes, void *held, Failure *failure)
{
    Batch b = {plan, addresses, bytes, NULL, 0, 1, held, 0, {0, 0, 0}};
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

static const char *message(const Failure *failure, int *memory)
{
    enum { THREW = 2, NO_MEMORY = 1 };
    *memory = failure->status == FAILED_MEMORY || (failure->status != THREW && failure->code == NO_MEMORY);
    if (*memory)
        return "llgrad: the tape or temporary buffers need more memory than there is; use a smaller input";
    if (failure->status == FAILED_BOUNDS)
        return "llgrad: the compiled code wrote outside of its arrays; declare larger outputs or scratch memory, or pass "
               "arrays that are as long as the code takes them to be";
    return failure->status == THREW
               ? "llgrad: the compiled code threw a C++ exception; catch it in the code and return a status"
               : "llgrad: the derivative failed while it ran";
}

Runtime llgrad_runtime = {found, llgrad_run, message, 1};
