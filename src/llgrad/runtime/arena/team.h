/* Teams of OpenMP in derivatives: what `transforms/canonical/teams.py` declares. Part of arena.c.
 *
 * A derivative in reverse mode has a `Team` for each region that it runs, on the tape of who opens the region. The first
 * thread uses the arena of its caller; the others take one that was kept, and give it back after the reverse sweep.
 *
 * What ends a section (critical, ordered, or of an atomic operation) counts all such ends of the region: its number is
 * kept. The reverse sweep begins sections there, from the last one on: a thread waits for its turn, takes the lock, and
 * only then lets the section before it have its turn. So sections within sections do not wait for each other.
 */
#define TEAM(name) __asm__("llgrad.team." name) __attribute__((weak, visibility("hidden")))
#define TEAM_INLINED(name) TEAM(name) __attribute__((always_inline))

enum { FAIL_OTHER_TEAM = 17, MOST_THREADS = 1 << 16, KEPT_ARENAS = 256 };

typedef struct {
    int32_t reserved, flags, unused, length;
    const char *source;
} Location;

typedef int32_t Lock[8];

int32_t __kmpc_global_thread_num(const Location *);
void __kmpc_fork_call(const Location *, int32_t, void (*)(int32_t *, int32_t *, void *), ...);
void __kmpc_push_num_threads(const Location *, int32_t, int32_t);
void __kmpc_barrier(const Location *, int32_t);
int32_t __kmpc_single(const Location *, int32_t);
void __kmpc_end_single(const Location *, int32_t);
int32_t __kmpc_master(const Location *, int32_t);
int32_t __kmpc_masked(const Location *, int32_t, int32_t);
void __kmpc_critical(const Location *, int32_t, Lock *);
void __kmpc_end_critical(const Location *, int32_t, Lock *);
void __kmpc_ordered(const Location *, int32_t);
void __kmpc_end_ordered(const Location *, int32_t);
void __kmpc_dispatch_deinit(const Location *, int32_t);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int sched_yield(void);

static const Location here = {0, 2, 0, 22, ";unknown;unknown;0;0;;"};

INNER int32_t id(void) { return __kmpc_global_thread_num(&here); }

/* --- constructs --- */

int32_t team_thread(void) TEAM_INLINED("thread");
int32_t team_number(void) TEAM_INLINED("number");
void team_fork(void (*region)(int32_t *, int32_t *, void *), void *pack) TEAM_INLINED("fork");
void team_push(int32_t threads) TEAM("push");
void team_barrier(void) TEAM("barrier");
int32_t team_single(void) TEAM("single");
void team_end_single(void) TEAM("end_single");
int32_t team_master(void) TEAM("master");
int32_t team_masked(int32_t filter) TEAM("masked");
void team_deinit(void) TEAM("deinit");

int32_t team_thread(void) { return id(); }
int32_t team_number(void) { return omp_get_thread_num(); }
void team_fork(void (*region)(int32_t *, int32_t *, void *), void *pack) { __kmpc_fork_call(&here, 1, region, pack); }
void team_push(int32_t threads)
{
    if (threads > 0) __kmpc_push_num_threads(&here, id(), threads);
}
void team_barrier(void) { __kmpc_barrier(&here, id()); }
int32_t team_single(void) { return __kmpc_single(&here, id()); }
void team_end_single(void) { __kmpc_end_single(&here, id()); }
int32_t team_master(void) { return __kmpc_master(&here, id()); }
int32_t team_masked(int32_t filter) { return __kmpc_masked(&here, id(), filter); }
void team_deinit(void) { __kmpc_dispatch_deinit(&here, id()); }

#define LOOP(sort, type)                                                                                               \
    void __kmpc_dispatch_init_##sort(const Location *, int32_t, int32_t, type, type, type, type);                      \
    void __kmpc_dispatch_fini_##sort(const Location *, int32_t);                                                       \
    void team_begin_##sort(int32_t schedule, type from, type to, type step, type chunk) TEAM("begin." #sort);          \
    void team_fini_##sort(void) TEAM("fini." #sort);                                                                   \
    void team_begin_##sort(int32_t schedule, type from, type to, type step, type chunk)                                \
    {                                                                                                                  \
        __kmpc_dispatch_init_##sort(&here, id(), schedule, from, to, step, chunk);                                     \
    }                                                                                                                  \
    void team_fini_##sort(void) { __kmpc_dispatch_fini_##sort(&here, id()); }

LOOP(4, int32_t)
LOOP(4u, int32_t)
LOOP(8, int64_t)
LOOP(8u, int64_t)

/* --- the two sweeps of a region --- */

typedef struct {
    int64_t threads, failed;
    int64_t _Atomic ended; /* sections, so far */
    int64_t unused;
    struct {
        Arena *arena;
        void *frame;
    } of[];
} Team;

Team *team_current[MOST_THREADS] TEAM("current"); /* by thread of the process (no TLS: decision 1) */
Arena *_Atomic team_kept[KEPT_ARENAS] TEAM("kept");

INNER Team **current(int32_t thread)
{
    if (thread < 0 || thread >= MOST_THREADS) __builtin_trap();
    return &team_current[thread];
}

INNER Arena *taken(int number)
{
    Arena *found = __c11_atomic_exchange(&team_kept[number % KEPT_ARENAS], NULL, __ATOMIC_ACQUIRE);
    if (!found) found = calloc(1, sizeof(Arena));
    if (!found) __builtin_trap();
    return found;
}

INNER void given(int number, Arena *arena)
{
    finish(arena);
    arena = __c11_atomic_exchange(&team_kept[number % KEPT_ARENAS], arena, __ATOMIC_ACQ_REL);
    if (arena) abandon(arena);
}

/* A thread begins the forward sweep of a region: its arena. `shared` is one for the team, null at first. */
Arena *team_enter(Arena *arena, Team **shared) TEAM("enter");
void team_leave(Team **shared, void *frame) TEAM("leave");
/* A thread begins the reverse sweep: its arena; null where the team is another one. */
Arena *team_again(Team *team) TEAM("again");
void *team_frame(Team *team) TEAM("frame");
void team_done(Team *team) TEAM("done");
/* Behind the region: fail where the team was another one. */
void team_check(Team *team) TEAM("check");

Arena *team_enter(Arena *arena, Team **shared)
{
    int number = omp_get_thread_num();
    if (!number) {
        int64_t threads = omp_get_num_threads();
        Team *made = reserve(arena, sizeof(Team) + threads * sizeof made->of[0]);
        made->threads = threads;
        made->failed = 0;
        __c11_atomic_init(&made->ended, 0);
        *shared = made;
    }
    __kmpc_barrier(&here, id());
    Team *team = *shared;
    if (number) arena = taken(number);
    team->of[number].arena = arena;
    *current(id()) = team;
    return arena;
}

void team_leave(Team **shared, void *frame)
{
    (*shared)->of[omp_get_thread_num()].frame = frame;
    *current(id()) = NULL;
}

Arena *team_again(Team *team)
{
    if (team->threads != omp_get_num_threads()) {
        if (!omp_get_thread_num()) team->failed = 1;
        return NULL;
    }
    *current(id()) = team;
    return team->of[omp_get_thread_num()].arena;
}

void *team_frame(Team *team) { return team->of[omp_get_thread_num()].frame; }

void team_done(Team *team)
{
    int number = omp_get_thread_num();
    *current(id()) = NULL;
    if (number) given(number, team->of[number].arena);
}

void team_check(Team *team)
{
    if (team->failed) llgrad_fail(FAIL_OTHER_TEAM, NULL);
}

/* --- sections --- */

Lock team_mutex TEAM("mutex"), team_turn TEAM("turn");

INNER int64_t number_of_end(void)
{
    Team *team = *current(id());
    return team ? __c11_atomic_fetch_add(&team->ended, 1, __ATOMIC_ACQ_REL) : 0;
}

INNER void begin_back(Lock *lock, int64_t number)
{
    Team *team = *current(id());
    while (__c11_atomic_load(&team->ended, __ATOMIC_ACQUIRE) != number + 1) sched_yield();
    __kmpc_critical(&here, id(), lock);
    __c11_atomic_store(&team->ended, number, __ATOMIC_RELEASE);
}

void team_critical(Lock *lock) TEAM("critical");
int64_t team_end_critical(Lock *lock) TEAM("end_critical");
void back_end_critical(Lock *lock, int64_t number) TEAM("back.end_critical");
void back_critical(Lock *lock) TEAM("back.critical");
void team_lock(void) TEAM("lock");
int64_t team_unlock(void) TEAM("unlock");
void back_unlock(int64_t number) TEAM("back.unlock");
void back_lock(void) TEAM("back.lock");
void team_ordered(void) TEAM("ordered");
int64_t team_end_ordered(void) TEAM("end_ordered");
void back_end_ordered(int64_t number) TEAM("back.end_ordered");
void back_ordered(void) TEAM("back.ordered");

void team_critical(Lock *lock) { __kmpc_critical(&here, id(), lock); }
int64_t team_end_critical(Lock *lock)
{
    int64_t number = number_of_end();
    __kmpc_end_critical(&here, id(), lock);
    return number;
}
void back_end_critical(Lock *lock, int64_t number) { begin_back(lock, number); }
void back_critical(Lock *lock) { __kmpc_end_critical(&here, id(), lock); }

void team_lock(void) { team_critical(&team_mutex); }
int64_t team_unlock(void) { return team_end_critical(&team_mutex); }
void back_unlock(int64_t number) { begin_back(&team_mutex, number); }
void back_lock(void) { back_critical(&team_mutex); }

void team_ordered(void) { __kmpc_ordered(&here, id()); }
int64_t team_end_ordered(void)
{
    int64_t number = number_of_end();
    __kmpc_end_ordered(&here, id());
    return number;
}
void back_end_ordered(int64_t number) { begin_back(&team_turn, number); }
void back_ordered(void) { back_critical(&team_turn); }
