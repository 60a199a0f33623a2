/* Collective functions: what moves floats, and what combines them. */

static int rank_in(MPI_Comm comm) { int r; MPI_Comm_rank(comm, &r); return r; }
static int size_of(MPI_Comm comm) { int n; MPI_Comm_size(comm, &n); return n; }

/* --- moves: each rank has blocks that go out, and blocks that come in */

enum { BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL };
typedef struct { format f; const void *p; void *d; int blocks, *counts; MPI_Aint *at; } side;
typedef struct { const char *function; int what, root, active; MPI_Comm comm; side out, in; } move;

/* `blocks` blocks at `p`: as many items each as `counts` says, at `displs`; else `count`, one after another. */
static side side_of(const void *p, const void *d, MPI_Datatype t, int blocks, int count, const int *counts,
                    const int *displs) {
    side s = {format_of(t), p, (void *)d, blocks, many(blocks, sizeof(int)), many(blocks, sizeof(MPI_Aint))};
    MPI_Aint low, extent = 0;
    if (blocks) MPI_Type_get_extent(t, &low, &extent);
    for (int n = 0; n < blocks; n++) {
        s.counts[n] = counts ? counts[n] : count;
        s.at[n] = (displs ? displs[n] : (MPI_Aint)n * count) * extent;
    }
    return s;
}

/* The one block of `s` that is this rank's: `MPI_IN_PLACE`. */
static side own_block(side s, int rank) {
    side own = {s.f, (char *)s.p + s.at[rank], (char *)s.d + s.at[rank], 1, many(1, sizeof(int)), many(1, sizeof(MPI_Aint))};
    own.counts[0] = s.counts[rank];
    return own;
}

static int elements(const char *function, side s, int *counts, int *displs) {
    long sum = 0;
    for (int n = 0; n < s.blocks; n++) {
        long count = s.counts[n] * s.f.each;
        if (counts) counts[n] = (int)count, displs[n] = (int)sum;
        if ((sum += count) > INT_MAX) refuse(function, "it moves more than 2^31 floats; move them in parts");
    }
    return (int)sum;
}

/* What is done with the floats of all blocks, and with an array of them, one block after another. */
static void side_each(side s, step what, char *wire) {
    for (int n = 0; n < s.blocks; n++) {
        char *p = (char *)s.p + s.at[n], *d = (char *)s.d + s.at[n];
        size_t bytes = s.counts[n] * s.f.each * WIDTH[s.f.kind];
        void *part;
        switch (what) {
        case TAKE: part = taken(s.f, p, d, s.counts[n]), memcpy(wire, part, bytes), free(part); break;
        case PUT: put(s.f, p, d, s.counts[n], wire); break;
        case ADD: add(s.f, p, d, s.counts[n], wire); break;
        default: clear(s.f, p, d, s.counts[n]);
        }
        wire = wire ? wire + bytes : NULL;
    }
}

static void *side_taken(const char *function, side s) {
    void *wire = many(elements(function, s, NULL, NULL), sizeof(long double));
    return side_each(s, TAKE, wire), wire;
}
static void side_free(side s) { free(s.counts), free(s.at); }

static move moving(const char *function, int what, int root, MPI_Comm comm, side out, side in) {
    move m = {function, what, root, 0, comm, out, in};
    side told = out.blocks ? out : in;
    m.active = is_active(function, told.f, out.blocks ? out.p : in.p, out.blocks ? out.d : in.d) &&
               (!in.blocks || is_active(function, in.f, in.p, in.d));
    if (m.active) require_intra(function, comm);
    return m;
}

/* A collective function on wires that has been started; `own` is null where it was waited for. */
typedef struct { void *out, *in; int *arrays[4]; MPI_Request own; } wires;
static void wires_free(wires w) {
    for (int n = 0; n < 4; n++) free(w.arrays[n]);
    free(w.out), free(w.in);
}

/* Call a function, or start it. */
#define RUN(blocking, starting, ...) (later ? MPI_##starting(__VA_ARGS__, &w.own) : MPI_##blocking(__VA_ARGS__))

/* A move of wires: forwards, or backwards, where what went to several ranks is summed. */
static wires begin_move(move m, int back, int later) {
    wires w = {NULL, NULL, {0}, MPI_REQUEST_NULL};
    int p = size_of(m.comm), *oc = many(p, sizeof(int)), *od = many(p, sizeof(int)), *ic = many(p, sizeof(int)),
        *id = many(p, sizeof(int)), no = elements(m.function, m.out, oc, od), ni = elements(m.function, m.in, ic, id);
    MPI_Datatype t = wire_type(m.out.blocks ? m.out.f.kind : m.in.f.kind);
    void *out = w.out = back ? many(no, sizeof(long double)) : side_taken(m.function, m.out);
    void *in = w.in = back ? side_taken(m.function, m.in) : many(ni, sizeof(long double));
    w.arrays[0] = oc, w.arrays[1] = od, w.arrays[2] = ic, w.arrays[3] = id;
    if (back) side_each(m.in, CLEAR, NULL);
    switch (m.what) {
    case BCAST:
        if (back) RUN(Reduce, Ireduce, in, out, ni, t, MPI_SUM, m.root, m.comm);
        else memcpy(in, out, no * sizeof(long double)), RUN(Bcast, Ibcast, in, ni, t, m.root, m.comm);
        break;
    case GATHER:
        if (back) RUN(Scatterv, Iscatterv, in, ic, id, t, out, no, t, m.root, m.comm);
        else RUN(Gatherv, Igatherv, out, no, t, in, ic, id, t, m.root, m.comm);
        break;
    case SCATTER:
        if (back) RUN(Gatherv, Igatherv, in, ni, t, out, oc, od, t, m.root, m.comm);
        else RUN(Scatterv, Iscatterv, out, oc, od, t, in, ni, t, m.root, m.comm);
        break;
    case ALLGATHER:
        if (back) RUN(Reduce_scatter, Ireduce_scatter, in, out, ic, t, MPI_SUM, m.comm);
        else RUN(Allgatherv, Iallgatherv, out, no, t, in, ic, id, t, m.comm);
        break;
    case ALLTOALL:
        if (back) RUN(Alltoallv, Ialltoallv, in, ic, id, t, out, oc, od, t, m.comm);
        else RUN(Alltoallv, Ialltoallv, out, oc, od, t, in, ic, id, t, m.comm);
    }
    return w;
}

static void end_move(move m, wires w, int back) {
    MPI_Wait(&w.own, MPI_STATUS_IGNORE);
    if (back) side_each(m.out, ADD, w.out);
    else side_each(m.in, PUT, w.in);
    wires_free(w);
}

static void move_free(move m) { side_free(m.out), side_free(m.in); }

static void move_tangents(move m) {
    if (m.active) end_move(m, begin_move(m, 0, 0), 0);
    move_free(m);
}

static void move_adjoints(move m) {
    if (m.active) end_move(m, begin_move(m, 1, 0), 1);
    move_free(m);
}

static void *move_kept(move m) {
    move *p = malloc(sizeof m);
    *p = m;
    return p;
}

/* Adjoints of collective functions start where these are waited for: on all ranks in one order, if no rank has another
 * one of the communicator meanwhile. */
static void require_idle(const char *function, MPI_Comm comm, long number) {
    for (record *r = pending; r; r = r->next)
        if (r->c && r->m.comm == comm && r->number < number)
            refuse(function, "another collective function of its communicator has been started and not waited for; wait "
                             "for that first, or use another communicator");
}

/* The rule of a function that moves: `MOVE` says what moves, before the function is called as `CALL`. */
#define MOVES(name, ARGS, CALL, MOVE) \
    static move name##_moves(ARGS) { const char *own = "MPI_" #name; MOVE } \
    moved __llgrad_##name##_forward(ARGS) { \
        move moved = name##_moves(name##_GIVEN); \
        int code = CALL; \
        return move_tangents(moved), done(code); \
    } \
    kept __llgrad_##name##_augmented(ARGS) { \
        move moved = name##_moves(name##_GIVEN); \
        if (moved.active) require_idle(moved.function, moved.comm, LONG_MAX); \
        return keep(move_kept(moved), CALL); \
    } \
    void __llgrad_##name##_reverse(ARGS, void *tape) { move_adjoints(*(move *)tape), free(tape); gone(); }

#ifdef OPEN_MPI
#define G(x) x, x##_shadow
#else
#define G(x) x
#endif
#define Q(x) x, x##_d
#define IS_ROOT (rank_in(comm) == root)
#define NO_SIDE side_of(NULL, NULL, MPI_DATATYPE_NULL, 0, 0, NULL, NULL)
#define OUT const void *out, const void *out_d
#define IN void *in, void *in_d

#define BCAST_ARGS IN, int n, H(MPI_Datatype, t), int root, H(MPI_Comm, comm)
#define Bcast_GIVEN Q(in), n, G(t), root, G(comm)
MOVES(Bcast, BCAST_ARGS, MPI_Bcast(in, n, t, root, comm),
    side all = side_of(in, in_d, t, 1, n, NULL, NULL);
    return moving(own, BCAST, root, comm, IS_ROOT ? side_of(in, in_d, t, 1, n, NULL, NULL) : NO_SIDE, all);)

#define GATHER_ARGS OUT, int n, H(MPI_Datatype, t), IN, int m, H(MPI_Datatype, u), int root, H(MPI_Comm, comm)
#define Gather_GIVEN Q(out), n, G(t), Q(in), m, G(u), root, G(comm)
MOVES(Gather, GATHER_ARGS, MPI_Gather(out, n, t, in, m, u, root, comm),
    side got = IS_ROOT ? side_of(in, in_d, u, size_of(comm), m, NULL, NULL) : NO_SIDE;
    return moving(own, GATHER, root, comm,
                  out == MPI_IN_PLACE ? own_block(got, root) : side_of(out, out_d, t, 1, n, NULL, NULL), got);)
#define GATHERV_ARGS OUT, int n, H(MPI_Datatype, t), IN, P(const int, m), P(const int, at), H(MPI_Datatype, u), int root, \
    H(MPI_Comm, comm)
#define Gatherv_GIVEN Q(out), n, G(t), Q(in), Q(m), Q(at), G(u), root, G(comm)
MOVES(Gatherv, GATHERV_ARGS, MPI_Gatherv(out, n, t, in, m, at, u, root, comm),
    side got = IS_ROOT ? side_of(in, in_d, u, size_of(comm), 0, m, at) : NO_SIDE;
    return moving(own, GATHER, root, comm,
                  out == MPI_IN_PLACE ? own_block(got, root) : side_of(out, out_d, t, 1, n, NULL, NULL), got);)
#define SCATTER_ARGS OUT, int n, H(MPI_Datatype, t), IN, int m, H(MPI_Datatype, u), int root, H(MPI_Comm, comm)
#define Scatter_GIVEN Q(out), n, G(t), Q(in), m, G(u), root, G(comm)
MOVES(Scatter, SCATTER_ARGS, MPI_Scatter(out, n, t, in, m, u, root, comm),
    side given = IS_ROOT ? side_of(out, out_d, t, size_of(comm), n, NULL, NULL) : NO_SIDE;
    return moving(own, SCATTER, root, comm, given,
                  in == MPI_IN_PLACE ? own_block(given, root) : side_of(in, in_d, u, 1, m, NULL, NULL));)
#define SCATTERV_ARGS OUT, P(const int, n), P(const int, at), H(MPI_Datatype, t), IN, int m, H(MPI_Datatype, u), int root, \
    H(MPI_Comm, comm)
#define Scatterv_GIVEN Q(out), Q(n), Q(at), G(t), Q(in), m, G(u), root, G(comm)
MOVES(Scatterv, SCATTERV_ARGS, MPI_Scatterv(out, n, at, t, in, m, u, root, comm),
    side given = IS_ROOT ? side_of(out, out_d, t, size_of(comm), 0, n, at) : NO_SIDE;
    return moving(own, SCATTER, root, comm, given,
                  in == MPI_IN_PLACE ? own_block(given, root) : side_of(in, in_d, u, 1, m, NULL, NULL));)
#define ALLGATHER_ARGS OUT, int n, H(MPI_Datatype, t), IN, int m, H(MPI_Datatype, u), H(MPI_Comm, comm)
#define Allgather_GIVEN Q(out), n, G(t), Q(in), m, G(u), G(comm)
MOVES(Allgather, ALLGATHER_ARGS, MPI_Allgather(out, n, t, in, m, u, comm),
    side got = side_of(in, in_d, u, size_of(comm), m, NULL, NULL);
    return moving(own, ALLGATHER, 0, comm,
                  out == MPI_IN_PLACE ? own_block(got, rank_in(comm)) : side_of(out, out_d, t, 1, n, NULL, NULL), got);)
#define ALLGATHERV_ARGS OUT, int n, H(MPI_Datatype, t), IN, P(const int, m), P(const int, at), H(MPI_Datatype, u), \
    H(MPI_Comm, comm)
#define Allgatherv_GIVEN Q(out), n, G(t), Q(in), Q(m), Q(at), G(u), G(comm)
MOVES(Allgatherv, ALLGATHERV_ARGS, MPI_Allgatherv(out, n, t, in, m, at, u, comm),
    side got = side_of(in, in_d, u, size_of(comm), 0, m, at);
    return moving(own, ALLGATHER, 0, comm,
                  out == MPI_IN_PLACE ? own_block(got, rank_in(comm)) : side_of(out, out_d, t, 1, n, NULL, NULL), got);)
#define ALLTOALL_ARGS OUT, int n, H(MPI_Datatype, t), IN, int m, H(MPI_Datatype, u), H(MPI_Comm, comm)
#define Alltoall_GIVEN Q(out), n, G(t), Q(in), m, G(u), G(comm)
MOVES(Alltoall, ALLTOALL_ARGS, MPI_Alltoall(out, n, t, in, m, u, comm),
    int p = size_of(comm);
    side got = side_of(in, in_d, u, p, m, NULL, NULL);
    return moving(own, ALLTOALL, 0, comm,
                  out == MPI_IN_PLACE ? side_of(in, in_d, u, p, m, NULL, NULL) : side_of(out, out_d, t, p, n, NULL, NULL),
                  got);)
#define ALLTOALLV_ARGS OUT, P(const int, n), P(const int, from), H(MPI_Datatype, t), IN, P(const int, m), P(const int, at), \
    H(MPI_Datatype, u), H(MPI_Comm, comm)
#define Alltoallv_GIVEN Q(out), Q(n), Q(from), G(t), Q(in), Q(m), Q(at), G(u), G(comm)
MOVES(Alltoallv, ALLTOALLV_ARGS, MPI_Alltoallv(out, n, from, t, in, m, at, u, comm),
    int p = size_of(comm);
    side got = side_of(in, in_d, u, p, 0, m, at);
    return moving(own, ALLTOALL, 0, comm,
                  out == MPI_IN_PLACE ? side_of(in, in_d, u, p, 0, m, at) : side_of(out, out_d, t, p, 0, n, from), got);)

/* --- reductions: each rank's part has a weight in the result, one for sums */

enum { ALLREDUCE, REDUCE, REDUCE_SCATTER, SCAN, EXSCAN };
typedef struct {
    const char *function;
    int what, root, active, count, *counts; /* `counts`: how many items of the result each rank gets */
    MPI_Op op;
    MPI_Comm comm;
    format f;
    const void *out;
    void *out_d, *in, *in_d, *weights;
} reduction;

/* Where the largest or smallest is: at the lowest rank of those that have it, and, by place, at the lowest place. */
#define WEIGHTS(T, t) \
    static void weigh_##t(const char *function, T *x, const int *places, int n, MPI_Datatype type, MPI_Op op, \
                          MPI_Comm comm) { \
        T *r = many(n, sizeof(T)); \
        int *mine = many(n, sizeof(int)), *all = many(n, sizeof(int)), rank = rank_in(comm), p = size_of(comm); \
        if (op == MPI_PROD) { \
            T *y = many(n, sizeof(T)); \
            for (int i = 0; i < n; i++) mine[i] = x[i] == 0, y[i] = mine[i] ? 1 : x[i]; \
            MPI_Allreduce(mine, all, n, MPI_INT, MPI_SUM, comm); \
            MPI_Allreduce(y, r, n, type, MPI_PROD, comm); \
            for (int i = 0; i < n; i++) x[i] = !all[i] ? r[i] / x[i] : all[i] == 1 && mine[i] ? r[i] : 0; \
            free(y); \
        } else { \
            MPI_Allreduce(x, r, n, type, op == MPI_MAX || op == MPI_MAXLOC ? MPI_MAX : MPI_MIN, comm); \
            for (int i = 0; i < n; i++) mine[i] = x[i] == r[i] ? places ? places[i] : 0 : INT_MAX; \
            MPI_Allreduce(mine, all, n, MPI_INT, MPI_MIN, comm); \
            for (int i = 0; i < n; i++) mine[i] = x[i] == r[i] && mine[i] == all[i] ? rank : p; \
            MPI_Allreduce(mine, all, n, MPI_INT, MPI_MIN, comm); \
            for (int i = 0; i < n; i++) x[i] = all[i] == rank; \
        } \
        free(r), free(mine), free(all); \
    }
WEIGHTS(float, float)
WEIGHTS(double, double)
WEIGHTS(long double, long_double)

#define TIMES(T) do { T *a_ = a; const T *w_ = w; for (long i_ = 0; i_ < n; i_++) a_[i_] = w_[i_] ? a_[i_] * w_[i_] : 0; } while (0)
static void times(int kind, void *a, const void *w, long n) {
    if (!w) return;
    if (kind == FLOAT) TIMES(float);
    else if (kind == DOUBLE) TIMES(double);
    else TIMES(long double);
}

static void require_op(reduction r) {
    const MPI_Op known[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_MAXLOC, MPI_MINLOC};
    int n = 0;
    while (n < 6 && known[n] != r.op) n++;
    if (n == 6) refuse(r.function, "its operation is none of SUM, PROD, MAX, MIN, MAXLOC and MINLOC; gather, and combine yourself");
    if (n && (r.what == SCAN || r.what == EXSCAN))
        refuse(r.function, "it scans by another operation than SUM; gather, and combine yourself");
    if (n == 1 && r.f.each != 1) refuse(r.function, "it multiplies complex numbers; gather, and multiply yourself");
    if (n > 3 && !(r.f.pairs && r.f.each == 1)) refuse(r.function, "its pairs are none of C's; use MPI_DOUBLE_INT or MPI_FLOAT_INT");
}

/* The reduction, with the weights of this rank's part, as long as that is there. */
static reduction reducing(reduction r) {
    if (r.out == MPI_IN_PLACE) r.out = r.in, r.out_d = r.in_d;
    r.active = is_active(r.function, r.f, r.out, r.out_d) && is_active(r.function, r.f, r.in, r.in_d);
    if (!r.active) return r;
    require_intra(r.function, r.comm), require_op(r);
    if (r.op == MPI_SUM) return r;
    int n = length(r.function, r.f, r.count), *places = NULL;
    MPI_Datatype t = wire_type(r.f.kind);
    r.weights = taken(r.f, NULL, r.out, r.count);
    if (r.op == MPI_MAXLOC || r.op == MPI_MINLOC) {
        MPI_Aint low, extent;
        MPI_Type_get_extent(r.f.type, &low, &extent);
        places = many(n, sizeof(int));
        for (int i = 0; i < n; i++) places[i] = *(int *)((char *)r.out + i * extent + WIDTH[r.f.kind]);
    }
    if (r.f.kind == FLOAT) weigh_float(r.function, r.weights, places, n, t, r.op, r.comm);
    else if (r.f.kind == DOUBLE) weigh_double(r.function, r.weights, places, n, t, r.op, r.comm);
    else weigh_long_double(r.function, r.weights, places, n, t, r.op, r.comm);
    free(places);
    return r;
}

/* How many items of the result are this rank's, and the floats of each rank. */
static int parts(reduction r, int *floats, int *displs) {
    int p = size_of(r.comm), rank = rank_in(r.comm), sum = 0;
    for (int n = 0; n < p && r.counts; n++) floats[n] = r.counts[n] * r.f.each, displs[n] = sum, sum += floats[n];
    return r.what == REDUCE && rank != r.root ? 0 : r.counts ? r.counts[rank] : r.count;
}

static void reduction_free(reduction r) { free(r.weights), free(r.counts); }

/* The ranks in the opposite order: a scan of adjoints goes from the last to the first. */
static MPI_Comm reversed(MPI_Comm comm) {
    MPI_Comm back;
    MPI_Comm_split(comm, 0, -rank_in(comm), &back);
    return back;
}

static wires begin_tangents_of(reduction r, int later) {
    wires w = {taken(r.f, r.out, r.out_d, r.count), zeros(r.f, r.count), {0}, MPI_REQUEST_NULL};
    int p = size_of(r.comm), n = length(r.function, r.f, r.count), *floats = w.arrays[0] = many(p, sizeof(int));
    w.arrays[1] = many(p, sizeof(int));
    MPI_Datatype t = wire_type(r.f.kind);
    parts(r, floats, w.arrays[1]);
    times(r.f.kind, w.out, r.weights, n);
    switch (r.what) {
    case ALLREDUCE: RUN(Allreduce, Iallreduce, w.out, w.in, n, t, MPI_SUM, r.comm); break;
    case REDUCE: RUN(Reduce, Ireduce, w.out, w.in, n, t, MPI_SUM, r.root, r.comm); break;
    case REDUCE_SCATTER: RUN(Reduce_scatter, Ireduce_scatter, w.out, w.in, floats, t, MPI_SUM, r.comm); break;
    case SCAN: MPI_Scan(w.out, w.in, n, t, MPI_SUM, r.comm); break;
    case EXSCAN: MPI_Exscan(w.out, w.in, n, t, MPI_SUM, r.comm);
    }
    return w;
}

static void end_tangents_of(reduction r, wires w) {
    int got = r.what == EXSCAN && !rank_in(r.comm) ? 0 : parts(r, w.arrays[0], w.arrays[1]);
    MPI_Wait(&w.own, MPI_STATUS_IGNORE);
    put(r.f, r.in, r.in_d, got, w.in);
    wires_free(w);
}

/* The adjoints of the result are summed in `in`, and come to each rank's part in `out`. */
static wires begin_adjoints_of(reduction r, int later) {
    wires w = {zeros(r.f, r.count), zeros(r.f, r.count), {0}, MPI_REQUEST_NULL};
    int p = size_of(r.comm), n = length(r.function, r.f, r.count), *floats = w.arrays[0] = many(p, sizeof(int)),
        *displs = w.arrays[1] = many(p, sizeof(int)), rank = rank_in(r.comm);
    int got = r.what == EXSCAN && !rank ? 0 : parts(r, floats, displs);
    MPI_Datatype t = wire_type(r.f.kind);
    MPI_Comm back;
    void *part = taken(r.f, r.in, r.in_d, got);
    memcpy(w.in, part, got * r.f.each * WIDTH[r.f.kind]), free(part);
    clear(r.f, r.in, r.in_d, got);
    switch (r.what) {
    case ALLREDUCE: RUN(Allreduce, Iallreduce, w.in, w.out, n, t, MPI_SUM, r.comm); break;
    case REDUCE:
        memcpy(w.out, w.in, n * WIDTH[r.f.kind]);
        RUN(Bcast, Ibcast, w.out, n, t, r.root, r.comm);
        break;
    case REDUCE_SCATTER:
        RUN(Allgatherv, Iallgatherv, w.in, got * r.f.each, t, w.out, floats, displs, t, r.comm);
        break;
    case SCAN: back = reversed(r.comm), MPI_Scan(w.in, w.out, n, t, MPI_SUM, back), MPI_Comm_free(&back); break;
    case EXSCAN:
        back = reversed(r.comm), MPI_Exscan(w.in, w.out, n, t, MPI_SUM, back), MPI_Comm_free(&back);
        if (rank == p - 1) memset(w.out, 0, n * WIDTH[r.f.kind]);
    }
    return w;
}

static void end_adjoints_of(reduction r, wires w) {
    MPI_Wait(&w.own, MPI_STATUS_IGNORE);
    times(r.f.kind, w.out, r.weights, length(r.function, r.f, r.count));
    add(r.f, r.out, r.out_d, r.count, w.out);
    wires_free(w);
}

static void reduce_tangents(reduction r) {
    if (r.active) end_tangents_of(r, begin_tangents_of(r, 0));
    reduction_free(r);
}

static void reduce_adjoints(reduction r) {
    if (r.active) end_adjoints_of(r, begin_adjoints_of(r, 0));
    reduction_free(r);
}

static void *reduction_kept(reduction r) {
    reduction *p = malloc(sizeof r);
    *p = r;
    return p;
}

#define REDUCES(name, ARGS, GIVEN, CALL, WHAT, ROOT, COUNT, COUNTS) \
    static reduction name##_reduces(ARGS) { \
        reduction r = {"MPI_" #name, WHAT, ROOT, 0, COUNT, COUNTS, op, comm, format_of(t), out, (void *)out_d, in, in_d, NULL}; \
        return reducing(r); \
    } \
    static reduction name##_sums(ARGS) { \
        format f = format_of(t); \
        if (f.kind != NONE && f.kind != BYTES && op != MPI_SUM) \
            refuse("MPI_I" #name, "it is waited for, and its operation is not SUM; call the function that waits itself"); \
        return name##_reduces(GIVEN); \
    } \
    moved __llgrad_##name##_forward(ARGS) { \
        reduction r = name##_reduces(GIVEN); \
        int code = CALL; \
        return reduce_tangents(r), done(code); \
    } \
    kept __llgrad_##name##_augmented(ARGS) { \
        reduction r = name##_reduces(GIVEN); \
        if (r.active) require_idle(r.function, r.comm, LONG_MAX); \
        return keep(reduction_kept(r), CALL); \
    } \
    void __llgrad_##name##_reverse(ARGS, void *tape) { reduce_adjoints(*(reduction *)tape), free(tape); gone(); }

#define ALL_ARGS OUT, IN, int n, H(MPI_Datatype, t), H(MPI_Op, op), H(MPI_Comm, comm)
#define ALL_GIVEN Q(out), Q(in), n, G(t), G(op), G(comm)
REDUCES(Allreduce, ALL_ARGS, ALL_GIVEN, MPI_Allreduce(out, in, n, t, op, comm), ALLREDUCE, 0, n, NULL)
#define REDUCE_ARGS OUT, IN, int n, H(MPI_Datatype, t), H(MPI_Op, op), int root, H(MPI_Comm, comm)
#define REDUCE_GIVEN Q(out), Q(in), n, G(t), G(op), root, G(comm)
REDUCES(Reduce, REDUCE_ARGS, REDUCE_GIVEN, MPI_Reduce(out, in, n, t, op, root, comm), REDUCE, root, n, NULL)
REDUCES(Scan, ALL_ARGS, ALL_GIVEN, MPI_Scan(out, in, n, t, op, comm), SCAN, 0, n, NULL)
REDUCES(Exscan, ALL_ARGS, ALL_GIVEN, MPI_Exscan(out, in, n, t, op, comm), EXSCAN, 0, n, NULL)

static int *copies(const int *counts, int count, MPI_Comm comm) {
    int p = size_of(comm), *own = many(p, sizeof(int));
    for (int n = 0; n < p; n++) own[n] = counts ? counts[n] : count;
    return own;
}
static int total(const int *counts, MPI_Comm comm) {
    int sum = 0;
    for (int n = size_of(comm); n--;) sum += counts[n];
    return sum;
}
#define PARTS_ARGS OUT, IN, P(const int, n), H(MPI_Datatype, t), H(MPI_Op, op), H(MPI_Comm, comm)
#define PARTS_GIVEN Q(out), Q(in), Q(n), G(t), G(op), G(comm)
REDUCES(Reduce_scatter, PARTS_ARGS, PARTS_GIVEN, MPI_Reduce_scatter(out, in, n, t, op, comm), REDUCE_SCATTER, 0,
        total(n, comm), copies(n, 0, comm))
REDUCES(Reduce_scatter_block, ALL_ARGS, ALL_GIVEN, MPI_Reduce_scatter_block(out, in, n, t, op, comm), REDUCE_SCATTER, 0,
        n * size_of(comm), copies(NULL, n, comm))
