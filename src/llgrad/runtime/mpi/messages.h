/* Messages from one rank to another, and what those that are waited for have in common with them. */

/* The tag of a derivative message: above those of the program. */
static int own_tag(const char *function, MPI_Comm comm, int tag) {
    void *bound;
    int there = 0;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &there);
    if (!there) MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &there);
    int half = there ? *(int *)bound / 2 : 16383;
    if (tag >= half) refuse(function, "its tag is in the upper half of those that there are, which derivatives use");
    return half + 1 + tag;
}

static void require_intra(const char *function, MPI_Comm comm) {
    int inter = 0;
    MPI_Comm_test_inter(comm, &inter);
    if (inter) refuse(function, "its communicator is an inter-communicator; merge it (MPI_Intercomm_merge)");
}

/* One direction of a message, as the primal had it. `comm` stands for the communicator, `items` is what was received. */
typedef struct { format f; int peer, tag, items; MPI_Comm comm; } message;

static int sends(const char *function, format f, int peer, MPI_Comm comm) {
    if (peer == MPI_PROC_NULL || f.kind == NONE || f.kind == BYTES) return 0;
    require_intra(function, comm);
    return 1;
}

/* Wires that are on their way: a derivative message waits for nobody, so that none is waited for in a circle. */
typedef struct flight { MPI_Request request; void *wire; struct flight *next; } flight;
static flight *flights;

static void land(void) {
    for (flight **at = &flights; *at;) {
        flight *one = *at;
        int arrived = 0;
        MPI_Test(&one->request, &arrived, MPI_STATUS_IGNORE);
        if (arrived) *at = one->next, free(one->wire), free(one);
        else at = &one->next;
    }
}

/* Send a wire, which is freed when it has arrived. */
static void send_wire(const char *function, message m, void *wire) {
    flight *one = malloc(sizeof *one);
    land();
    MPI_Isend(wire, length(function, m.f, m.items), wire_type(m.f.kind), m.peer, own_tag(function, m.comm, m.tag), m.comm,
              &one->request);
    one->wire = wire, one->next = flights, flights = one;
}

static void receive_wire(const char *function, message m, void *wire) {
    MPI_Recv(wire, length(function, m.f, m.items), wire_type(m.f.kind), m.peer, own_tag(function, m.comm, m.tag), m.comm,
             MPI_STATUS_IGNORE);
}

/* What a receive has got: nothing from MPI_PROC_NULL. */
static message received(const char *function, format f, MPI_Status *s, MPI_Datatype type, int tag, MPI_Comm comm) {
    message m = {f, s->MPI_SOURCE, s->MPI_TAG, 0, comm};
    if (!sends(function, f, m.peer, comm)) return m.peer = MPI_PROC_NULL, m;
    if (tag == MPI_ANY_TAG) refuse(function, "it takes any tag, and may get a derivative message; name the tag");
    MPI_Get_count(s, type, &m.items);
    if (m.items == MPI_UNDEFINED) refuse(function, "the message ends within an item of the datatype");
    return m;
}

static void *copied(message m) {
    message *p = malloc(sizeof m);
    *p = m;
    return p;
}

static void tell(MPI_Status *told, MPI_Status s) {
    if (told != MPI_STATUS_IGNORE) *told = s;
}

/* Tangents follow the message; adjoints go back. */
static void send_tangents(const char *function, message m, const void *p, const void *d) {
    send_wire(function, m, taken(m.f, p, d, m.items));
}

static void receive_tangents(const char *function, message m, const void *p, void *d) {
    void *wire = zeros(m.f, m.items);
    receive_wire(function, m, wire);
    put(m.f, p, d, m.items, wire);
    free(wire);
}

static void receive_adjoints(const char *function, message m, const void *p, void *d) {
    void *wire = zeros(m.f, m.items);
    receive_wire(function, m, wire);
    add(m.f, p, d, m.items, wire);
    free(wire);
}

static void send_adjoints(const char *function, message m, const void *p, void *d) {
    void *wire = taken(m.f, p, d, m.items);
    clear(m.f, p, d, m.items);
    send_wire(function, m, wire);
}

/* Receives, and collective functions, that have been started and not waited for.
 *
 * Between two ranks, derivative messages of one tag come in the order of the messages. So receives of one tag from one
 * rank have to be completed in the order in which they were started, which `in_order` sees to. */
typedef struct record {
    message m; /* the peer and tag as asked for, then as they were */
    void *p, *d;
    int count, source, tag, overtakers, *by;
    long number;
    MPI_Datatype type;
    MPI_Request handle;
    struct collective *c; /* a collective function that was started, instead of a receive */
    struct record *next;
} record;

static record *pending; /* in the order in which they were started */
static long started;

static void forget(record *r) {
    for (record **at = &pending; *at; at = &(*at)->next)
        if (*at == r) { *at = r->next; return; }
}

static void expect(record *r) {
    record **at = &pending;
    while (*at) at = &(*at)->next;
    r->number = started++, r->next = NULL, *at = r;
}

/* A receive was completed, the `number`-th to be started: was one overtaken that gets messages from the same rank? */
static void in_order(const char *function, message m, long number, record *own) {
    static const char *late = "messages of one tag from one rank are not waited for in the order in which their receives "
                              "were started; give them different tags";
    for (int n = 0; own && n < own->overtakers; n++)
        if (own->by[n] == m.peer) refuse(function, late);
    for (record *r = pending; r; r = r->next) {
        if (r->c || r->number >= number || r->tag != m.tag || r->m.comm != m.comm) continue;
        if (r->source == m.peer) refuse(function, late);
        if (r->source != MPI_ANY_SOURCE) continue;
        r->by = realloc(r->by, sizeof(int) * (r->overtakers + 1));
        r->by[r->overtakers++] = m.peer;
    }
}

#define SEND P(const void, buf), int count, H(MPI_Datatype, type), int dest, int tag, H(MPI_Comm, comm)
#define SENDING(name) \
    format f = format_of(type); \
    message m = {f, dest, tag, count, comm}; \
    int active = is_active("MPI_" #name, f, buf, buf_d) && sends("MPI_" #name, f, dest, comm);
#define SENDS(name) \
    moved __llgrad_##name##_forward(SEND) { \
        SENDING(name) \
        int code = MPI_##name(buf, count, type, dest, tag, comm); \
        if (active) send_tangents("MPI_" #name, m, buf, buf_d); \
        return done(code); \
    } \
    kept __llgrad_##name##_augmented(SEND) { \
        SENDING(name) \
        return keep(NULL, MPI_##name(buf, count, type, dest, tag, comm)); \
    } \
    void __llgrad_##name##_reverse(SEND, void *tape) { \
        SENDING(name) \
        if (active) receive_adjoints("MPI_" #name, m, buf, (void *)buf_d); \
        gone(); \
    }
SENDS(Send)
SENDS(Ssend)
SENDS(Bsend)
SENDS(Rsend)

#define RECV P(void, buf), int count, H(MPI_Datatype, type), int source, int tag, H(MPI_Comm, comm), P(MPI_Status, status)
static message receive(void *buf, void *buf_d, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                       MPI_Status *status, int *code) {
    MPI_Status s;
    format f = format_of(type);
    *code = MPI_Recv(buf, count, type, source, tag, comm, &s);
    tell(status, s);
    message m = received("MPI_Recv", f, &s, type, tag, comm);
    if (!is_active("MPI_Recv", f, buf, buf_d)) m.peer = MPI_PROC_NULL;
    else if (m.peer != MPI_PROC_NULL) in_order("MPI_Recv", m, started++, NULL);
    return m;
}
moved __llgrad_Recv_forward(RECV) {
    int code;
    message m = receive(buf, buf_d, count, type, source, tag, comm, status, &code);
    if (m.peer != MPI_PROC_NULL) receive_tangents("MPI_Recv", m, buf, buf_d);
    return done(code);
}
kept __llgrad_Recv_augmented(RECV) {
    int code;
    message m = receive(buf, buf_d, count, type, source, tag, comm, status, &code);
    return keep(copied(m), code);
}
void __llgrad_Recv_reverse(RECV, void *tape) {
    message m = *(message *)tape;
    if (m.peer != MPI_PROC_NULL) send_adjoints("MPI_Recv", m, buf, buf_d);
    free(tape);
    gone();
}

/* Both directions at once: what goes out may be what the other rank waits for. */
static void exchange(const char *function, message out, void *sent, message in, void *got) {
    MPI_Request r[2];
    int n = 0;
    if (in.peer != MPI_PROC_NULL)
        MPI_Irecv(got, length(function, in.f, in.items), wire_type(in.f.kind), in.peer,
                  own_tag(function, in.comm, in.tag), in.comm, &r[n++]);
    if (out.peer != MPI_PROC_NULL)
        MPI_Isend(sent, length(function, out.f, out.items), wire_type(out.f.kind), out.peer,
                  own_tag(function, out.comm, out.tag), out.comm, &r[n++]);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
}
typedef struct { message out, in; } both;
static void tangents_exchanged(const char *function, both k, const void *from, const void *from_d, void *to, void *to_d,
                               void *sent) {
    void *got = zeros(k.in.f, k.in.items);
    exchange(function, k.out, sent, k.in, got);
    if (k.in.peer != MPI_PROC_NULL) put(k.in.f, to, to_d, k.in.items, got);
    free(got);
}
static void adjoints_exchanged(const char *function, both k, const void *from, void *from_d, void *to, void *to_d) {
    void *back = taken(k.in.f, to, to_d, k.in.items), *got = zeros(k.out.f, k.out.items);
    if (k.in.peer != MPI_PROC_NULL) clear(k.in.f, to, to_d, k.in.items);
    exchange(function, k.in, back, k.out, got);
    if (k.out.peer != MPI_PROC_NULL) add(k.out.f, from, from_d, k.out.items, got);
    free(back), free(got);
}
static message outgoing(const char *function, const void *p, const void *d, int count, MPI_Datatype type, int dest,
                        int tag, MPI_Comm comm) {
    format f = format_of(type);
    message m = {f, dest, tag, count, comm};
    if (!is_active(function, f, p, d) || !sends(function, f, dest, comm)) m.peer = MPI_PROC_NULL;
    return m;
}
static both *both_kept(both k) {
    both *p = malloc(sizeof k);
    *p = k;
    return p;
}

#define SENDRECV P(const void, from), int n, H(MPI_Datatype, type), int dest, int tag, P(void, to), int m, \
    H(MPI_Datatype, other), int source, int wanted, H(MPI_Comm, comm), P(MPI_Status, status)
#define RUN \
    MPI_Status s; \
    both k; \
    k.out = outgoing("MPI_Sendrecv", from, from_d, n, type, dest, tag, comm); \
    int code = MPI_Sendrecv(from, n, type, dest, tag, to, m, other, source, wanted, comm, &s); \
    tell(status, s); \
    format f = format_of(other); \
    k.in = received("MPI_Sendrecv", f, &s, other, wanted, comm); \
    if (!is_active("MPI_Sendrecv", f, to, to_d)) k.in.peer = MPI_PROC_NULL; \
    else if (k.in.peer != MPI_PROC_NULL) in_order("MPI_Sendrecv", k.in, started++, NULL);
moved __llgrad_Sendrecv_forward(SENDRECV) {
    RUN
    void *sent = taken(k.out.f, from, from_d, k.out.items);
    tangents_exchanged("MPI_Sendrecv", k, from, from_d, to, to_d, sent);
    free(sent);
    return done(code);
}
kept __llgrad_Sendrecv_augmented(SENDRECV) { RUN return keep(both_kept(k), code); }
void __llgrad_Sendrecv_reverse(SENDRECV, void *tape) {
    adjoints_exchanged("MPI_Sendrecv", *(both *)tape, from, (void *)from_d, to, to_d);
    free(tape);
    gone();
}
#undef RUN

#define REPLACE P(void, buf), int count, H(MPI_Datatype, type), int dest, int tag, int source, int wanted, \
    H(MPI_Comm, comm), P(MPI_Status, status)
#define RUN \
    MPI_Status s; \
    both k; \
    k.out = outgoing("MPI_Sendrecv_replace", buf, buf_d, count, type, dest, tag, comm); \
    int code = MPI_Sendrecv_replace(buf, count, type, dest, tag, source, wanted, comm, &s); \
    tell(status, s); \
    k.in = received("MPI_Sendrecv_replace", k.out.f, &s, type, wanted, comm); \
    if (!is_active("MPI_Sendrecv_replace", k.in.f, buf, buf_d)) k.in.peer = MPI_PROC_NULL; \
    else if (k.in.peer != MPI_PROC_NULL) in_order("MPI_Sendrecv_replace", k.in, started++, NULL);
moved __llgrad_Sendrecv_replace_forward(REPLACE) {
    void *sent = taken(format_of(type), buf, buf_d, count);
    RUN
    tangents_exchanged("MPI_Sendrecv_replace", k, buf, buf_d, buf, buf_d, sent);
    free(sent);
    return done(code);
}
kept __llgrad_Sendrecv_replace_augmented(REPLACE) { RUN return keep(both_kept(k), code); }
void __llgrad_Sendrecv_replace_reverse(REPLACE, void *tape) {
    adjoints_exchanged("MPI_Sendrecv_replace", *(both *)tape, buf, buf_d, buf, buf_d);
    free(tape);
    gone();
}
#undef RUN

/* Questions for messages that have come: one for any tag may be answered by a derivative message. */
static void require_tag(const char *function, int tag) {
    if (tag == MPI_ANY_TAG) refuse(function, "it asks for any tag, and may find a derivative message; name the tag");
}
#define ASKS(name, ARGS, CALL) \
    moved __llgrad_##name##_forward(ARGS) { return require_tag("MPI_" #name, tag), done(CALL); } \
    kept __llgrad_##name##_augmented(ARGS) { return require_tag("MPI_" #name, tag), keep(NULL, CALL); } \
    void __llgrad_##name##_reverse(ARGS, void *tape) { gone(); }
#define PROBE_ARGS int source, int tag, H(MPI_Comm, comm), P(MPI_Status, status)
#define IPROBE_ARGS int source, int tag, H(MPI_Comm, comm), P(int, flag), P(MPI_Status, status)
ASKS(Probe, PROBE_ARGS, MPI_Probe(source, tag, comm, status))
ASKS(Iprobe, IPROBE_ARGS, MPI_Iprobe(source, tag, comm, flag, status))
