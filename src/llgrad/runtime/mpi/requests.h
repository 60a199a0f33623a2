/* Messages that are waited for. What is received has its derivative where it is waited for: tangents come there, adjoints
 * go back from there. What is sent has it where it is sent; the tangents do not wait for anybody (`send_wire`). */

static void released(record *r) { if (r) free(r->by), free(r); }

/* What is expected of a receive; nothing of integers, or from nobody. */
static record *receiving(const char *function, void *p, void *d, int count, MPI_Datatype type, int source, int tag,
                         MPI_Comm comm) {
    format f = format_of(type);
    if (!is_active(function, f, p, d) || !sends(function, f, source, comm)) return NULL;
    if (tag == MPI_ANY_TAG) refuse(function, "it takes any tag, and may get a derivative message; name the tag");
    record *r = calloc(1, sizeof *r);
    message m = {f, source, tag, 0, comm};
    r->m = m, r->p = p, r->d = d, r->count = count, r->source = source, r->tag = tag, r->type = type;
    return r;
}

#define ISEND SEND, P(MPI_Request, request)
#define ISENDS(name) \
    moved __llgrad_##name##_forward(ISEND) { \
        SENDING(name) \
        int code = MPI_##name(buf, count, type, dest, tag, comm, request); \
        if (active) send_tangents("MPI_" #name, m, buf, buf_d); \
        return done(code); \
    } \
    kept __llgrad_##name##_augmented(ISEND) { \
        SENDING(name) \
        return keep(NULL, MPI_##name(buf, count, type, dest, tag, comm, request)); \
    } \
    void __llgrad_##name##_reverse(ISEND, void *tape) { \
        SENDING(name) \
        if (active) receive_adjoints("MPI_" #name, m, buf, (void *)buf_d); \
        gone(); \
    }
ISENDS(Isend)
ISENDS(Issend)
ISENDS(Ibsend)
ISENDS(Irsend)

#define IRECV P(void, buf), int count, H(MPI_Datatype, type), int source, int tag, H(MPI_Comm, comm), P(MPI_Request, request)
static record *start(void *buf, void *buf_d, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Request *request, int *code) {
    record *r = receiving("MPI_Irecv", buf, buf_d, count, type, source, tag, comm);
    *code = MPI_Irecv(buf, count, type, source, tag, comm, request);
    if (r) r->handle = *request, expect(r);
    return r;
}
moved __llgrad_Irecv_forward(IRECV) {
    int code;
    start(buf, buf_d, count, type, source, tag, comm, request, &code);
    return done(code);
}
kept __llgrad_Irecv_augmented(IRECV) {
    int code;
    record *r = start(buf, buf_d, count, type, source, tag, comm, request, &code);
    return keep(r, code);
}
void __llgrad_Irecv_reverse(IRECV, void *tape) { released(tape); gone(); }

/* --- requests that are started again and again */

typedef struct persistent { MPI_Request handle; record *r; int is_send; struct persistent *next; } persistent;
static persistent *known;

static void remember(MPI_Request handle, record *r, int is_send) {
    persistent *k = malloc(sizeof *k);
    k->handle = handle, k->r = r, k->is_send = is_send, k->next = known, known = k;
}
static persistent *found(MPI_Request handle) {
    persistent *k = known;
    while (k && k->handle != handle) k = k->next;
    return k;
}
#define INIT(name, KIND, IS_SEND) \
    static int name##_made(KIND void *buf, KIND void *buf_d, int count, MPI_Datatype type, int peer, int tag, \
                           MPI_Comm comm, MPI_Request *request) { \
        record *r = receiving("MPI_" #name, (void *)buf, (void *)buf_d, count, type, peer, tag, comm); \
        int code = MPI_##name(buf, count, type, peer, tag, comm, request); \
        if (r) r->m.items = count, remember(*request, r, IS_SEND); \
        return code; \
    } \
    moved __llgrad_##name##_forward(P(KIND void, buf), int count, H(MPI_Datatype, type), int peer, int tag, \
                                    H(MPI_Comm, comm), P(MPI_Request, request)) { \
        return done(name##_made(buf, buf_d, count, type, peer, tag, comm, request)); \
    } \
    kept __llgrad_##name##_augmented(P(KIND void, buf), int count, H(MPI_Datatype, type), int peer, int tag, \
                                     H(MPI_Comm, comm), P(MPI_Request, request)) { \
        return keep(NULL, name##_made(buf, buf_d, count, type, peer, tag, comm, request)); \
    } \
    void __llgrad_##name##_reverse(P(KIND void, buf), int count, H(MPI_Datatype, type), int peer, int tag, \
                                   H(MPI_Comm, comm), P(MPI_Request, request), void *tape) { gone(); }
INIT(Send_init, const, 1)
INIT(Recv_init, , 0)

/* What was started of requests: sends, and receives that are expected. */
typedef struct { int n; record **sent, **expected; } batch;
static batch *begin(int n, MPI_Request *requests) {
    batch *b = malloc(sizeof *b);
    b->n = n, b->sent = many(n, sizeof(record *)), b->expected = many(n, sizeof(record *));
    for (int i = 0; i < n; i++) {
        persistent *k = found(requests[i]);
        if (!k) continue;
        if (k->is_send) { b->sent[i] = k->r; continue; }
        record *r = malloc(sizeof *r);
        *r = *k->r, r->handle = requests[i], r->overtakers = 0, r->by = NULL, expect(r), b->expected[i] = r;
    }
    return b;
}
static void end_batch(batch *b, int with_records) {
    for (int i = 0; i < b->n && with_records; i++) released(b->expected[i]);
    free(b->sent), free(b->expected), free(b);
}
static void begin_tangents(const char *function, batch *b) {
    for (int i = 0; i < b->n; i++)
        if (b->sent[i]) send_tangents(function, b->sent[i]->m, b->sent[i]->p, b->sent[i]->d);
    end_batch(b, 0);
}
static void begin_adjoints(const char *function, batch *b) {
    for (int i = b->n; i--;)
        if (b->sent[i]) receive_adjoints(function, b->sent[i]->m, b->sent[i]->p, b->sent[i]->d);
    end_batch(b, 1);
}
moved __llgrad_Start_forward(P(MPI_Request, request)) {
    batch *b = begin(1, request);
    int code = MPI_Start(request);
    return begin_tangents("MPI_Start", b), done(code);
}
kept __llgrad_Start_augmented(P(MPI_Request, request)) { batch *b = begin(1, request); return keep(b, MPI_Start(request)); }
void __llgrad_Start_reverse(P(MPI_Request, request), void *tape) { begin_adjoints("MPI_Start", tape); gone(); }
moved __llgrad_Startall_forward(int n, P(MPI_Request, requests)) {
    batch *b = begin(n, requests);
    int code = MPI_Startall(n, requests);
    return begin_tangents("MPI_Startall", b), done(code);
}
kept __llgrad_Startall_augmented(int n, P(MPI_Request, requests)) {
    batch *b = begin(n, requests);
    return keep(b, MPI_Startall(n, requests));
}
void __llgrad_Startall_reverse(int n, P(MPI_Request, requests), void *tape) { begin_adjoints("MPI_Startall", tape); gone(); }

/* --- collective functions that are waited for */

typedef struct collective { int is_move, begun; move m; reduction r; wires w; } collective;

static record *expect_all(collective c, MPI_Comm comm, MPI_Request handle) {
    record *r = calloc(1, sizeof *r);
    r->c = malloc(sizeof c), *r->c = c, r->m.comm = comm, r->handle = handle;
    return expect(r), r;
}
static void collective_free(collective *c) {
    if (c->is_move) move_free(c->m);
    else reduction_free(c->r);
    free(c);
}
static void end_tangents(collective *c) {
    if (c->is_move) end_move(c->m, c->w, 0);
    else end_tangents_of(c->r, c->w);
    collective_free(c);
}
static void begin_adjoints_later(collective *c) {
    c->w = c->is_move ? begin_move(c->m, 1, 1) : begin_adjoints_of(c->r, 1), c->begun = 1;
}
static void end_adjoints(const char *function, record *r) {
    if (!r) return;
    if (!r->c->begun) refuse(function, "it is not waited for within the derivative");
    if (r->c->is_move) end_move(r->c->m, r->c->w, 1);
    else end_adjoints_of(r->c->r, r->c->w);
    collective_free(r->c), released(r);
}

#define GIVES(...) __VA_ARGS__
#define STARTS(name, iname, ARGS, MAKE, ACTIVE, COMM, FREE, BEGIN, CALL) \
    moved __llgrad_##iname##_forward(GIVES ARGS, P(MPI_Request, request)) { \
        collective c = {0}; \
        MAKE; \
        int code = MPI_##iname(GIVES CALL, request), later = 1; \
        if (ACTIVE) c.w = BEGIN, expect_all(c, COMM, *request); \
        else FREE; \
        return done(code); \
    } \
    kept __llgrad_##iname##_augmented(GIVES ARGS, P(MPI_Request, request)) { \
        collective c = {0}; \
        record *r = NULL; \
        MAKE; \
        int code = MPI_##iname(GIVES CALL, request); \
        if (ACTIVE) r = expect_all(c, COMM, *request); \
        else FREE; \
        return keep(r, code); \
    } \
    void __llgrad_##iname##_reverse(GIVES ARGS, P(MPI_Request, request), void *tape) { end_adjoints("MPI_" #iname, tape), gone(); }
#define IMOVES(name, iname, ARGS, CALL) \
    STARTS(name, iname, (ARGS), (c.is_move = 1, c.m = name##_moves(name##_GIVEN)), c.m.active, c.m.comm, move_free(c.m), \
           begin_move(c.m, 0, later), CALL)
#define IREDUCES(name, iname, ARGS, GIVEN, CALL) \
    STARTS(name, iname, (ARGS), (c.r = name##_sums(GIVEN)), c.r.active, c.r.comm, reduction_free(c.r), \
           begin_tangents_of(c.r, later), CALL)

IMOVES(Bcast, Ibcast, BCAST_ARGS, (in, n, t, root, comm))
IMOVES(Gather, Igather, GATHER_ARGS, (out, n, t, in, m, u, root, comm))
IMOVES(Gatherv, Igatherv, GATHERV_ARGS, (out, n, t, in, m, at, u, root, comm))
IMOVES(Scatter, Iscatter, SCATTER_ARGS, (out, n, t, in, m, u, root, comm))
IMOVES(Scatterv, Iscatterv, SCATTERV_ARGS, (out, n, at, t, in, m, u, root, comm))
IMOVES(Allgather, Iallgather, ALLGATHER_ARGS, (out, n, t, in, m, u, comm))
IMOVES(Allgatherv, Iallgatherv, ALLGATHERV_ARGS, (out, n, t, in, m, at, u, comm))
IMOVES(Alltoall, Ialltoall, ALLTOALL_ARGS, (out, n, t, in, m, u, comm))
IMOVES(Alltoallv, Ialltoallv, ALLTOALLV_ARGS, (out, n, from, t, in, m, at, u, comm))
IREDUCES(Allreduce, Iallreduce, ALL_ARGS, ALL_GIVEN, (out, in, n, t, op, comm))
IREDUCES(Reduce, Ireduce, REDUCE_ARGS, REDUCE_GIVEN, (out, in, n, t, op, root, comm))
IREDUCES(Reduce_scatter, Ireduce_scatter, PARTS_ARGS, PARTS_GIVEN, (out, in, n, t, op, comm))
IREDUCES(Reduce_scatter_block, Ireduce_scatter_block, ALL_ARGS, ALL_GIVEN, (out, in, n, t, op, comm))

/* --- completion */

/* The receives among some requests, before they are waited for. */
typedef struct { int n, done; record **all; MPI_Status *states; record **ended; } waiting;

static waiting await(int n, MPI_Request *requests) {
    waiting w = {n, 0, many(n, sizeof(record *)), many(n, sizeof(MPI_Status)), many(n + 1, sizeof(record *))};
    for (int i = 0; i < n; i++)
        for (record *r = requests[i] == MPI_REQUEST_NULL ? NULL : pending; r; r = r->next) {
            int taken = 0;
            for (int k = 0; k < i; k++) taken |= w.all[k] == r;
            if (r->handle == requests[i] && !taken) { w.all[i] = r; break; }
        }
    return w;
}

/* The i-th request is complete. */
static void completed(const char *function, waiting *w, int i, MPI_Status *s) {
    record *r = w->all[i];
    if (!r) return;
    w->all[i] = NULL, forget(r);
    if (!r->c) r->m = received(function, r->m.f, s, r->type, r->tag, r->m.comm);
    int at = w->done++;
    for (; at && w->ended[at - 1]->number > r->number; at--) w->ended[at] = w->ended[at - 1];
    w->ended[at] = r; /* in the order in which they were started */
}

static void settle(const char *function, waiting *w) {
    for (int i = 0; i < w->done; i++) {
        record *r = w->ended[i];
        if (r->c) require_idle(function, r->m.comm, r->number);
        else if (r->m.peer != MPI_PROC_NULL) in_order(function, r->m, r->number, r);
    }
    free(w->all), free(w->states);
}

static void complete_tangents(const char *function, waiting w) {
    settle(function, &w);
    for (int i = 0; i < w.done; i++) {
        record *r = w.ended[i];
        if (r->c) end_tangents(r->c);
        else if (r->m.peer != MPI_PROC_NULL) receive_tangents(function, r->m, r->p, r->d);
        released(r);
    }
    free(w.ended);
}

static kept complete_kept(const char *function, waiting w, int code) {
    settle(function, &w); /* `ended` ends with null */
    return keep(w.ended, code);
}

static void complete_adjoints(const char *function, record **ended) {
    int n = 0;
    while (ended[n]) n++;
    while (n--)
        if (ended[n]->c) begin_adjoints_later(ended[n]->c);
        else if (ended[n]->m.peer != MPI_PROC_NULL) send_adjoints(function, ended[n]->m, ended[n]->p, ended[n]->d);
    free(ended);
}

/* The rule of a function that completes requests: what is behind calls it and tells `completed` of those that are. */
#define WAITS(name, ARGS, N, REQUESTS, ...) \
    moved __llgrad_##name##_forward(ARGS) { \
        static const char *function = "MPI_" #name; \
        waiting w = await(N, REQUESTS); \
        int code; \
        __VA_ARGS__ \
        return complete_tangents(function, w), done(code); \
    } \
    kept __llgrad_##name##_augmented(ARGS) { \
        static const char *function = "MPI_" #name; \
        waiting w = await(N, REQUESTS); \
        int code; \
        __VA_ARGS__ \
        return complete_kept(function, w, code); \
    } \
    void __llgrad_##name##_reverse(ARGS, void *tape) { complete_adjoints("MPI_" #name, tape); gone(); }

static void tell_all(MPI_Status *told, MPI_Status *states, int n) {
    for (int i = 0; told != MPI_STATUSES_IGNORE && i < n; i++) told[i] = states[i];
}

#define WAIT_ARGS P(MPI_Request, request), P(MPI_Status, status)
WAITS(Wait, WAIT_ARGS, 1, request,
    code = MPI_Wait(request, w.states);
    tell(status, w.states[0]);
    completed(function, &w, 0, w.states);)
#define TEST_ARGS P(MPI_Request, request), P(int, flag), P(MPI_Status, status)
WAITS(Test, TEST_ARGS, 1, request,
    code = MPI_Test(request, flag, w.states);
    if (*flag) tell(status, w.states[0]), completed(function, &w, 0, w.states);)
#define WAITALL_ARGS int n, P(MPI_Request, requests), P(MPI_Status, states)
WAITS(Waitall, WAITALL_ARGS, n, requests,
    code = MPI_Waitall(n, requests, w.states);
    tell_all(states, w.states, n);
    for (int i = 0; i < n; i++) completed(function, &w, i, &w.states[i]);)
#define TESTALL_ARGS int n, P(MPI_Request, requests), P(int, flag), P(MPI_Status, states)
WAITS(Testall, TESTALL_ARGS, n, requests,
    code = MPI_Testall(n, requests, flag, w.states);
    if (*flag) tell_all(states, w.states, n);
    for (int i = 0; *flag && i < n; i++) completed(function, &w, i, &w.states[i]);)
#define WAITANY_ARGS int n, P(MPI_Request, requests), P(int, which), P(MPI_Status, status)
WAITS(Waitany, WAITANY_ARGS, n, requests,
    MPI_Status s;
    code = MPI_Waitany(n, requests, which, &s);
    tell(status, s);
    if (*which != MPI_UNDEFINED) completed(function, &w, *which, &s);)
#define TESTANY_ARGS int n, P(MPI_Request, requests), P(int, which), P(int, flag), P(MPI_Status, status)
WAITS(Testany, TESTANY_ARGS, n, requests,
    MPI_Status s;
    code = MPI_Testany(n, requests, which, flag, &s);
    if (*flag) tell(status, s);
    if (*flag && *which != MPI_UNDEFINED) completed(function, &w, *which, &s);)
#define SOME_ARGS int n, P(MPI_Request, requests), P(int, count), P(int, which), P(MPI_Status, states)
WAITS(Waitsome, SOME_ARGS, n, requests,
    code = MPI_Waitsome(n, requests, count, which, w.states);
    if (*count != MPI_UNDEFINED) tell_all(states, w.states, *count);
    for (int i = 0; *count != MPI_UNDEFINED && i < *count; i++) completed(function, &w, which[i], &w.states[i]);)
WAITS(Testsome, SOME_ARGS, n, requests,
    code = MPI_Testsome(n, requests, count, which, w.states);
    if (*count != MPI_UNDEFINED) tell_all(states, w.states, *count);
    for (int i = 0; *count != MPI_UNDEFINED && i < *count; i++) completed(function, &w, which[i], &w.states[i]);)
