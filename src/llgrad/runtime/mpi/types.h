/* What a datatype holds: its floats as an array (`wire`), which may be added to them, or clear them. */

/* The program ends on all ranks: one that stopped alone would leave the others waiting. */
static void refuse(const char *function, const char *what) {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "llgrad: rank %d: no derivative of %s: %s\n", rank, function, what);
    fflush(stderr);
    struct timespec while_it_is_told = {0, 200000000}; /* the launcher passes on what it has read before all ends */
    nanosleep(&while_it_is_told, NULL);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static void *many(size_t n, size_t size) { return calloc(n ? n : 1, size); }

enum { NONE, FLOAT, DOUBLE, LONG_DOUBLE, BYTES }; /* of what floats there are the widest; BYTES: who knows */
static const size_t WIDTH[] = {0, sizeof(float), sizeof(double), sizeof(long double), 0};
static MPI_Datatype wire_type(int kind) {
    return kind == FLOAT ? MPI_FLOAT : kind == DOUBLE ? MPI_DOUBLE : MPI_LONG_DOUBLE;
}

typedef struct { int kind, count, pairs; } leaf; /* `count` floats; `pairs`: one, and an integer behind it */

static int leaf_of(MPI_Datatype t, leaf *found) {
    const struct { MPI_Datatype type; leaf is; } known[] = {
        {MPI_DOUBLE, {DOUBLE, 1}}, {MPI_FLOAT, {FLOAT, 1}}, {MPI_LONG_DOUBLE, {LONG_DOUBLE, 1}},
        {MPI_C_DOUBLE_COMPLEX, {DOUBLE, 2}}, {MPI_C_FLOAT_COMPLEX, {FLOAT, 2}}, {MPI_C_COMPLEX, {FLOAT, 2}},
        {MPI_C_LONG_DOUBLE_COMPLEX, {LONG_DOUBLE, 2}},
        {MPI_CXX_DOUBLE_COMPLEX, {DOUBLE, 2}}, {MPI_CXX_FLOAT_COMPLEX, {FLOAT, 2}},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, {LONG_DOUBLE, 2}},
        {MPI_DOUBLE_PRECISION, {DOUBLE, 1}}, {MPI_REAL, {FLOAT, 1}}, {MPI_REAL4, {FLOAT, 1}}, {MPI_REAL8, {DOUBLE, 1}},
        {MPI_COMPLEX, {FLOAT, 2}}, {MPI_DOUBLE_COMPLEX, {DOUBLE, 2}},
        {MPI_2REAL, {FLOAT, 2}}, {MPI_2DOUBLE_PRECISION, {DOUBLE, 2}},
        {MPI_DOUBLE_INT, {DOUBLE, 1, 1}}, {MPI_FLOAT_INT, {FLOAT, 1, 1}}, {MPI_LONG_DOUBLE_INT, {LONG_DOUBLE, 1, 1}},
        {MPI_BYTE, {BYTES, 0}}, {MPI_PACKED, {BYTES, 0}},
    };
    for (unsigned n = 0; n < sizeof known / sizeof *known; n++)
        if (known[n].type == t && t != MPI_DATATYPE_NULL) return *found = known[n].is, 1;
    return 0;
}

typedef enum { COUNT, TAKE, ADD, PUT, CLEAR } step;
typedef struct { step step; int kind, pairs; long at; char *wire; } walk;

static void visit_floats(walk *w, int kind, int count, char *p) {
    for (int n = 0; n < count; n++, w->at++, p += WIDTH[kind]) {
        char *cell = w->step == COUNT || w->step == CLEAR ? NULL : w->wire + w->at * WIDTH[w->kind];
        long double x = 0, y = 0;
#define READ(k, p) ((k) == FLOAT ? *(float *)(p) : (k) == DOUBLE ? *(double *)(p) : *(long double *)(p))
#define WRITE(k, p, v) ((k) == FLOAT ? (void)(*(float *)(p) = (v)) : (k) == DOUBLE ? (void)(*(double *)(p) = (v)) \
                        : (void)(*(long double *)(p) = (v)))
        switch (w->step) {
        case COUNT: if (w->kind != BYTES && kind > w->kind) w->kind = kind; break;
        case TAKE: x = READ(kind, p); WRITE(w->kind, cell, x); break;
        case ADD: x = READ(kind, p), y = READ(w->kind, cell); WRITE(kind, p, x + y); break;
        case PUT: y = READ(w->kind, cell); WRITE(kind, p, y); break;
        case CLEAR: WRITE(kind, p, 0); break;
        }
    }
}

static void visit(walk *w, char *p, long count, MPI_Datatype t);

/* A datatype that the program made, by what it was made of (MPI 3.1, 4.1.13). */
static void visit_made(walk *w, char *p, MPI_Datatype t, int ni, int na, int nt, int combiner) {
    int *i = malloc(sizeof(int) * (ni + 1));
    MPI_Aint *a = malloc(sizeof(MPI_Aint) * (na + 1)), low, extent = 0;
    MPI_Datatype *of = malloc(sizeof(MPI_Datatype) * (nt + 1));
    MPI_Type_get_contents(t, ni, na, nt, i, a, of);
    if (nt) MPI_Type_get_extent(of[0], &low, &extent);
    switch (combiner) {
    case MPI_COMBINER_DUP: case MPI_COMBINER_RESIZED: visit(w, p, 1, of[0]); break;
    case MPI_COMBINER_CONTIGUOUS: visit(w, p, i[0], of[0]); break;
    case MPI_COMBINER_VECTOR: for (int n = 0; n < i[0]; n++) visit(w, p + n * i[2] * extent, i[1], of[0]); break;
    case MPI_COMBINER_HVECTOR: for (int n = 0; n < i[0]; n++) visit(w, p + n * a[0], i[1], of[0]); break;
    case MPI_COMBINER_INDEXED:
        for (int n = 0; n < i[0]; n++) visit(w, p + i[1 + i[0] + n] * extent, i[1 + n], of[0]);
        break;
    case MPI_COMBINER_HINDEXED: for (int n = 0; n < i[0]; n++) visit(w, p + a[n], i[1 + n], of[0]); break;
    case MPI_COMBINER_INDEXED_BLOCK: for (int n = 0; n < i[0]; n++) visit(w, p + i[2 + n] * extent, i[1], of[0]); break;
    case MPI_COMBINER_HINDEXED_BLOCK: for (int n = 0; n < i[0]; n++) visit(w, p + a[n], i[1], of[0]); break;
    case MPI_COMBINER_STRUCT: for (int n = 0; n < i[0]; n++) visit(w, p + a[n], i[1 + n], of[n]); break;
    case MPI_COMBINER_SUBARRAY: {
        int d = i[0], *sizes = i + 1, *sub = sizes + d, *start = sub + d, fortran = start[d] == MPI_ORDER_FORTRAN;
        long total = 1;
        for (int k = 0; k < d; k++) total *= sub[k];
        for (long e = 0; e < total; e++) { /* in the order of memory */
            long rest = e, place = 0, step = 1;
            for (int k = 0; k < d; k++) {
                int at = fortran ? k : d - 1 - k;
                place += (start[at] + rest % sub[at]) * step, rest /= sub[at], step *= sizes[at];
            }
            visit(w, p + place * extent, 1, of[0]);
        }
        break;
    }
    default: w->kind = BYTES;
    }
    for (int n = 0; n < nt; n++) {
        int x, y, z, named;
        MPI_Type_get_envelope(of[n], &x, &y, &z, &named);
        if (named != MPI_COMBINER_NAMED) MPI_Type_free(&of[n]);
    }
    free(i), free(a), free(of);
}

/* `count` items of a type from `p` on. */
static void visit(walk *w, char *p, long count, MPI_Datatype t) {
    int ni, na, nt, combiner;
    leaf is;
    MPI_Aint low, extent;
    if (t == MPI_DATATYPE_NULL) return;
    MPI_Type_get_envelope(t, &ni, &na, &nt, &combiner);
    int named = leaf_of(t, &is);
    if (!named && combiner == MPI_COMBINER_NAMED) return; /* integers, characters, … */
    if (named && is.kind == BYTES) { w->kind = BYTES; return; }
    MPI_Type_get_extent(t, &low, &extent);
    for (long n = 0; n < count; n++) {
        if (named) visit_floats(w, is.kind, is.count, p + n * extent), w->pairs |= is.pairs;
        else visit_made(w, p + n * extent, t, ni, na, nt, combiner);
    }
}

/* The floats of a message: of which kind, how many in an item. */
typedef struct { MPI_Datatype type; int kind, pairs, plain; long each; } format;

static format format_of(MPI_Datatype t) {
    leaf is;
    format f = {t, NONE, 0, 0, 0};
    if (leaf_of(t, &is)) {
        f.kind = is.kind, f.each = is.count, f.pairs = is.pairs, f.plain = !is.pairs && is.kind != BYTES;
        return f;
    }
    walk w = {COUNT, NONE};
    visit(&w, NULL, 1, t);
    f.kind = w.kind, f.each = w.at, f.pairs = w.pairs;
    return f;
}

/* Has the message derivatives? Bytes have none: what they are is not known. */
static int is_active(const char *function, format f, const void *p, const void *d) {
    if (f.kind == BYTES && p != d)
        refuse(function, "it moves memory with derivatives as MPI_BYTE or MPI_PACKED; say which floats it holds");
    return f.kind != NONE && f.kind != BYTES;
}

static int length(const char *function, format f, long count) {
    if (count * f.each > INT_MAX) refuse(function, "the message holds more than 2^31 floats; send it in parts");
    return (int)(count * f.each);
}

static void *zeros(format f, long count) {
    size_t n = count * f.each * WIDTH[f.kind];
    return calloc(n ? n : 1, 1);
}

static void walk_over(step s, format f, void *d, long count, void *wire) {
    walk w = {s, f.kind, 0, 0, wire};
    visit(&w, d, count, f.type);
}

/* The floats of `count` items, copied; zeros where memory is constant. */
static void *taken(format f, const void *p, const void *d, long count) {
    void *wire = zeros(f, count);
    if (p == d || !count) return wire;
    if (f.plain) memcpy(wire, d, count * f.each * WIDTH[f.kind]);
    else walk_over(TAKE, f, (void *)d, count, wire);
    return wire;
}

static void put(format f, const void *p, void *d, long count, const void *wire) {
    if (p == d || !count) return;
    if (f.plain) memcpy(d, wire, count * f.each * WIDTH[f.kind]);
    else walk_over(PUT, f, d, count, (void *)wire);
}

static void clear(format f, const void *p, void *d, long count) {
    if (p == d || !count) return;
    if (f.plain) memset(d, 0, count * f.each * WIDTH[f.kind]);
    else walk_over(CLEAR, f, d, count, NULL);
}

#define LOOP(T) do { T *x_ = to; const T *y_ = from; for (long n_ = 0; n_ < n; n_++) x_[n_] += y_[n_]; } while (0)
static void add_wire(int kind, void *to, const void *from, long n) {
    if (kind == FLOAT) LOOP(float);
    else if (kind == DOUBLE) LOOP(double);
    else LOOP(long double);
}

static void add(format f, const void *p, void *d, long count, const void *wire) {
    if (p == d || !count) return;
    if (f.plain) add_wire(f.kind, d, wire, count * f.each);
    else walk_over(ADD, f, d, count, (void *)wire);
}
