/* flang's runtime calls for derived types: included by a unit that is written for the types of a program (fortrantypes.py)
 * after what it says of each: size_of, parent_of, init_of, final_of, free_of, assign_of, all of a type's address, which
 * LLVM knows where nothing is polymorphic; 1 for ALL where it knows the types of the program. Others are left to flang's
 * own runtime. */
#define RUNTIME(result, name, ...) extern result _FortranA##name(__VA_ARGS__)
RUNTIME(void, Assign, Descriptor *to, const Descriptor *from, const char *file, int line);
RUNTIME(void, AssignPolymorphic, Descriptor *to, const Descriptor *from, const char *file, int line);
RUNTIME(void, AssignTemporary, Descriptor *to, const Descriptor *from, const char *file, int line);
RUNTIME(void, Destroy, const Descriptor *d);
RUNTIME(void, DestroyWithoutFinalization, const Descriptor *d);
RUNTIME(void, Initialize, const Descriptor *d, const char *file, int line);
RUNTIME(void, Finalize, const Descriptor *d, const char *file, int line);
RUNTIME(void, AllocatableInitDerivedForAllocate, Descriptor *d, const void *t, int rank, int corank);
RUNTIME(void, PointerNullifyDerived, Descriptor *d, const void *t, int rank, int corank);
RUNTIME(void, AllocatableApplyMold, Descriptor *d, const Descriptor *mold, int rank);
RUNTIME(int, AllocatableAllocateSource, Descriptor *d, const Descriptor *source, _Bool status, const Descriptor *message,
        const char *file, int line);
RUNTIME(int, PointerAllocateSource, Descriptor *d, const Descriptor *source, _Bool status, const Descriptor *message,
        const char *file, int line);
RUNTIME(int, MoveAlloc, Descriptor *to, Descriptor *from, const void *t, _Bool status, const Descriptor *message,
        const char *file, int line);
RUNTIME(void, PushArrayConstructorValue, Constructor *c, const Descriptor *from);
RUNTIME(_Bool, ClassIs, const Descriptor *d, const void *t);

enum { VERSION = 20240719 };

/* What the program's text says of a descriptor (an argument before those of the runtime's): its rank where it has an
 * addendum, 16 more where it has none, 256 times the number of the type that is declared; -1 where nothing is said. */
enum { FLAT = 16, DECLARED = 256 };
#define TYPE_AT(d, rank) (*(const void **)((char *)(d) + 24 + 24 * (rank)))

INSIDE int rank_of(const Descriptor *d, int said) { return said < 0 ? d->rank : said % FLAT; }
INSIDE int is_flat(int said) { return said >= 0 && said & FLAT; }
INSIDE int has_type(int said) { return said >= 0 && !(said & FLAT); }

/* What is said is written where it stands already, for LLVM to know. */
INSIDE void tell(Descriptor *d, int said)
{
    if (said >= 0) d->rank = said % FLAT;
    if (is_flat(said)) d->extra &= ~HAS_ADDENDUM;
}

/* The type of what a descriptor describes; none where that is no object. */
INSIDE Type type_of(const Descriptor *d, int said)
{
    if (is_flat(said) || (said < 0 && !(d->extra & HAS_ADDENDUM))) return (Type){0, 0};
    return (Type){TYPE_AT(d, rank_of(d, said)), said < 0 ? 0 : said / DECLARED};
}

/* What is given to an allocatable or a pointer is of the type that is declared for that, or extends it. */
INSIDE Type within(Type t, int said)
{
    if (!t.among && has_type(said)) t.among = said / DECLARED;
    return t;
}

/* Is that for the runtime? Where all types of a program are known, it is not. */
INSIDE int strange(const Descriptor *d, int said, Type t)
{
    if (!t.is) return 0;
    if (rank_of(d, said) <= RANKS && (ALL || size_of(t))) return 0;
    if (ALL && said < 0) llgrad_fail(4, 0);
    return 1;
}

INSIDE Array objects(const Descriptor *d, int rank, Type t) { return known(d, rank, TYPE_DERIVED, size_of(t)); }
INSIDE Array described(const Descriptor *d, int said, Type t) { return objects(d, rank_of(d, said), t); }

INSIDE void establish(char *at, int64_t bytes, int rank, int type, const void *t)
{
    Descriptor *d = (Descriptor *)at;
    d->base = 0, d->bytes = bytes, d->version = VERSION, d->rank = rank, d->type = type, d->attribute = ALLOCATABLE;
    d->extra = t ? HAS_ADDENDUM : 0;
    if (t) TYPE_AT(d, rank) = t, *(int64_t *)(at + 32 + 24 * rank) = 0;
}

/* A `class(*)` that is not allocated: of no type. */
INSIDE void establish_any(char *at, int rank)
{
    establish(at, 0, rank, TYPE_NONE, 0);
    ((Descriptor *)at)->extra = HAS_ADDENDUM;
    TYPE_AT(at, rank) = 0, *(int64_t *)(at + 32 + 24 * rank) = 0;
}

/* The descriptor of objects that a procedure of their type's is called with. */
INSIDE void describe_objects(char *at, Array a, const void *t)
{
    establish(at, a.bytes, a.rank, TYPE_DERIVED, t);
    ((Descriptor *)at)->attribute = 0;
    set_known((Descriptor *)at, a, 1);
}
INSIDE Array object(char *at, int64_t bytes) { return (Array){at, bytes, 1, 1, 1, 1, 0, 0, 0, 0, TYPE_DERIVED, 0}; }

/* --- allocatable components ------------------------------------------------------------------------------------------- */

INSIDE void free_numbers(char *at)
{
    free(((Descriptor *)at)->base);
    ((Descriptor *)at)->base = 0;
}

/* Allocatable arrays lie in one stretch. */
INSIDE void assign_numbers(char *at, const char *source, int rank, int type, int64_t bytes)
{
    Descriptor *to = (Descriptor *)at;
    const Descriptor *from = (const Descriptor *)source;
    Array a = known(to, rank, type, bytes), b = known(from, rank, type, bytes);
    if (a.base == b.base) return;
    if (!b.base) {
        free_numbers(at);
        return;
    }
    if (!a.base || !same_shape(a, b)) {
        free(a.base);
        a = allocated(b);
        set_known(to, a, rank ? from->dim[0].lower : 1);
    }
    copy(vector(a, elements(b)), vector(b, elements(b)));
}

INSIDE void assign_pointer(char *to, const char *from, int rank, int of_objects)
{
    int64_t *a = (int64_t *)to;
    const int64_t *b = (const int64_t *)from;
    *(void **)to = *(void *const *)from;
    for (int n = 1; n < 3 + 3 * rank; n++) a[n] = b[n];
    if (of_objects) TYPE_AT(to, rank) = TYPE_AT(from, rank), a[4 + 3 * rank] = b[4 + 3 * rank];
}

INSIDE void assign_texts(char *at, const char *source, int rank)
{
    Descriptor *to = (Descriptor *)at;
    const Descriptor *from = (const Descriptor *)source;
    if (to->base == from->base) return;
    free_numbers(at);
    if (!from->base) return;
    Array b = known(from, rank, TYPE_TEXT, from->bytes), made = allocated(b);
    memcpy(made.base, b.base, b.bytes * elements(b));
    set_known(to, made, rank ? from->dim[0].lower : 1);
    to->bytes = b.bytes;
}

INSIDE void final_component(char *at, int rank, Type t)
{
    Array a = objects((Descriptor *)at, rank, t);
    if (!a.base) return;
    whole_of(t, packed(a));
    for (int64_t n = 0; n < elements(a); n++) final_of(t, a.base + n * a.bytes, rank);
}

INSIDE void free_component(char *at, int rank, Type t)
{
    Array a = objects((Descriptor *)at, rank, t);
    if (!a.base) return;
    for (int64_t n = 0; n < elements(a); n++) free_of(t, a.base + n * a.bytes);
    free_numbers(at);
}

/* Does an allocatable component hold none, do its objects give way to none or to those of another type? Then it is given
 * that type. */
INSIDE int ends(const char *source) { return !((const Descriptor *)source)->base; }
INSIDE int changes(char *at, const char *source, int rank)
{
    return ends(source) || TYPE_AT(at, rank) != TYPE_AT(source, rank);
}
INSIDE int retyped(char *at, const char *source, int rank)
{
    if (ends(source)) return 0;
    TYPE_AT(at, rank) = TYPE_AT(source, rank);
    ((Descriptor *)at)->bytes = ((const Descriptor *)source)->bytes;
    ((Descriptor *)at)->type = ((const Descriptor *)source)->type;
    return 1;
}

/* Numbers of a type that only the program knows: the bits of one that may be a float or an integer are moved as a word. */
INSIDE void copy_anything(Array to, Array from)
{
    if (to.type == TYPE_DOUBLE) { COPY(double) }
    else if (to.bytes == 4) { COPY(int32_t) }
    else if (to.bytes == 8) { COPY(int64_t) }
    else { COPY_PARTS(int8_t, to.bytes) }
}

/* Numbers or text in a `class(*)`, whose old contents are gone or are numbers, too. */
INSIDE void assign_anything(char *at, const char *source, int rank)
{
    Descriptor *to = (Descriptor *)at;
    const Descriptor *from = (const Descriptor *)source;
    Array old = known(to, rank, from->type, 0), b = known(from, rank, from->type, from->bytes);
    if (old.base == b.base) return;
    Array made = allocated(b);
    copy_anything(vector(made, elements(b)), vector(b, elements(b)));
    free(old.base);
    set_known(to, made, rank ? from->dim[0].lower : 1);
}

INSIDE void assign_component(char *at, const char *source, int rank, Type t)
{
    Descriptor *to = (Descriptor *)at;
    const Descriptor *from = (const Descriptor *)source;
    Array a = objects(to, rank, t), b = objects(from, rank, t);
    if (!a.base || !same_shape(a, b)) {
        free_component(at, rank, t);
        a = allocated(b);
        set_known(to, a, rank ? from->dim[0].lower : 1);
        for (int64_t n = 0; n < elements(a); n++) init_of(t, a.base + n * a.bytes);
    }
    for (int64_t n = 0; n < elements(a); n++) assign_of(t, a.base + n * a.bytes, b.base + n * b.bytes);
}

/* --- objects, and arrays of them -------------------------------------------------------------------------------------- */

INSIDE void init_all(Type t, Array a) { ROWS(a, { init_of(t, AT(a, i, j, k, l)); }) }
INSIDE void final_all(Type t, Array a)
{
    whole_of(t, a);
    ROWS(a, { final_of(t, AT(a, i, j, k, l), a.rank); })
}
INSIDE void free_all(Type t, Array a) { ROWS(a, { free_of(t, AT(a, i, j, k, l)); }) }
INSIDE void assign_all(Type t, Array a, Array b)
{
    ROWS(a, { assign_of(t, AT(a, i, j, k, l), AT(b, i, j, k, l)); })
}

API void llgrad_Initialize(int said, int none, const Descriptor *d, const char *file, int line)
{
    Type t = type_of(d, said);
    if (strange(d, said, t)) _FortranAInitialize(d, file, line);
    else if (t.is) init_all(t, described(d, said, t));
}

API void llgrad_Finalize(int said, int none, const Descriptor *d, const char *file, int line)
{
    Type t = type_of(d, said);
    if (strange(d, said, t)) _FortranAFinalize(d, file, line);
    else if (t.is) final_all(t, described(d, said, t));
}

API void llgrad_DestroyWithoutFinalization(int said, int none, const Descriptor *d)
{
    Type t = type_of(d, said);
    if (strange(d, said, t)) _FortranADestroyWithoutFinalization(d);
    else if (t.is && d->base) free_all(t, described(d, said, t));
}

API void llgrad_Destroy(int said, int none, const Descriptor *d)
{
    Type t = type_of(d, said);
    if (strange(d, said, t)) {
        _FortranADestroy(d);
    } else if (t.is && d->base) {
        final_all(t, described(d, said, t));
        free_all(t, described(d, said, t));
    }
}

/* What is assigned may be part of what is assigned to: then, and for an allocatable of another shape or type, it is
 * copied before that is let go. Each copy knows its strides. */
INSIDE void assign(Descriptor *to, int its_rank, const Descriptor *from, int others, Type t, Type its)
{
    int rank = others ? others : its_rank;
    Array a = objects(to, rank, its), b = objects(from, others, t);
    if (to->attribute == ALLOCATABLE) a = packed(a);
    _Bool new = to->attribute == ALLOCATABLE && (!a.base || (others && !same_shape(a, b)) || its.is != t.is);
    if (!new && !rank) {
        if (a.base == b.base) return;
        if (!holds_itself(t)) {
            final_all(its, a);
            assign_all(t, a, b);
            return;
        }
    } else if (!new && (first_byte(a) >= end(b) || first_byte(b) >= end(a))) {
        final_all(its, a);
        assign_all(t, a, b);
        return;
    }
    Array made = others || !a.base ? b : a;
    made.rank = rank, made.bytes = size_of(t);
    made = allocated(made);
    init_all(t, made);
    assign_all(t, made, b);
    if (a.base) final_all(its, a);
    if (!new) {
        assign_all(t, a, made);
        free_all(t, made);
        free(made.base);
        return;
    }
    if (a.base) {
        free_all(its, a);
        free(a.base);
    }
    set_known(to, made, others ? from->dim[0].lower : 1);
    to->bytes = made.bytes;
    if (t.is != its.is) TYPE_AT(to, rank) = t.is;
}

/* May it be a number? Not where the declared type is known. */
INSIDE int takes_numbers(const Descriptor *d, int said, Type t)
{
    if (t.is || !has_type(said)) return 0;
    if (type_of(d, said).is) llgrad_fail(4, 0);
    return 1;
}

/* `a = 2.5` where `a` is an allocatable `class(*)` that holds no object. */
INSIDE void assign_numbers_to_any(Descriptor *to, int its_rank, const Descriptor *from, int others)
{
    int rank = others ? others : its_rank;
    Array b = known(from, others, from->type, from->bytes), made = b;
    if (from->type == TYPE_DERIVED) llgrad_fail(4, 0);
    made.rank = rank;
    made = allocated(made);
    copy_anything(made, b);
    free(to->base);
    to->type = from->type, to->bytes = from->bytes;
    set_known(to, made, others ? from->dim[0].lower : 1);
}

/* What is assigned to a variable that is not polymorphic is of its type, or of one that extends it; of what is assigned
 * LLVM knows more than of what a component's descriptor says. */
INSIDE Type declared(const Descriptor *to, int its, const Descriptor *from, int others)
{
    Type t = within(type_of(from, others), its);
    return t.is && parent_of(t) ? type_of(to, its) : t;
}

API void llgrad_Assign(int its, int others, Descriptor *to, const Descriptor *from, const char *file, int line)
{
    Type t = declared(to, its, from, others);
    tell(to, its);
    if (!t.is || strange(from, others, t)) _FortranAAssign(to, from, file, line);
    else assign(to, rank_of(to, its), from, rank_of(from, others), t, t);
}

/* A component of an object that is being made; an allocatable one (`class`) takes the type of what it is given. */
API void llgrad_AssignTemporary(int its, int others, Descriptor *to, const Descriptor *from, const char *file, int line)
{
    Type t = within(type_of(from, others), its), old = type_of(to, its);
    tell(to, its);
    if (!t.is && takes_numbers(to, its, t)) {
        assign_numbers_to_any(to, rank_of(to, its), from, rank_of(from, others));
    } else if (!t.is) {
        _FortranAAssign(to, from, file, line);
    } else if (strange(from, others, t) || strange(to, its, old)) {
        _FortranAAssignTemporary(to, from, file, line);
    } else if (to->attribute == ALLOCATABLE) {
        if (to->base) init_all(old, described(to, its, old));
        assign(to, rank_of(to, its), from, rank_of(from, others), t, old);
    } else {
        t = declared(to, its, from, others);
        init_all(t, described(to, its, t));
        assign(to, rank_of(to, its), from, rank_of(from, others), t, t);
    }
}

API void llgrad_AssignPolymorphic(int its, int others, Descriptor *to, const Descriptor *from, const char *file, int line)
{
    Type t = within(type_of(from, others), its), old = type_of(to, its);
    if (ALL && takes_numbers(to, its, t)) { /* a number in a `class(*)` */
        assign_numbers_to_any(to, rank_of(to, its), from, rank_of(from, others));
        return;
    }
    if (ALL && !t.is) llgrad_fail(4, 0);
    if (!t.is || strange(from, others, t) || strange(to, its, old)) _FortranAAssignPolymorphic(to, from, file, line);
    else assign(to, rank_of(to, its), from, rank_of(from, others), t, old);
}

API void llgrad_AllocatableInitDerivedForAllocate(int its, int none, Descriptor *d, const void *t, int rank, int corank)
{
    int64_t bytes = size_of((Type){t, 0});
    if (!bytes || corank) _FortranAAllocatableInitDerivedForAllocate(d, t, rank, corank);
    else if (!d->base) establish((char *)d, bytes, rank, TYPE_DERIVED, t);
}

API void llgrad_PointerNullifyDerived(int its, int none, Descriptor *d, const void *t, int rank, int corank)
{
    int64_t bytes = size_of((Type){t, 0});
    if (bytes && !corank) {
        establish((char *)d, bytes, rank, TYPE_DERIVED, t);
        d->attribute = 1;
    } else {
        _FortranAPointerNullifyDerived(d, t, rank, corank);
    }
}

API void llgrad_AllocatableApplyMold(int its, int others, Descriptor *d, const Descriptor *mold, int rank)
{
    Type t = type_of(mold, others);
    _FortranAAllocatableApplyMold(d, mold, rank);
    if (t.is && !is_flat(its)) TYPE_AT(d, rank_of(d, its)) = t.is;
}

/* --- memory for objects -------------------------------------------------------------------------------------------------- */

INSIDE void allocate(Descriptor *d, int said, Type t, const char *file, int line)
{
    Array a = known(d, rank_of(d, said), d->type, t.is && size_of(t) ? size_of(t) : d->bytes);
    a = allocated(a);
    set_strides(d, a);
    if (strange(d, said, t)) _FortranAInitialize(d, file, line);
    else if (t.is) init_all(t, vector(a, elements(a)));
}

API int llgrad_AllocatableAllocate(int said, int none, Descriptor *d, const int64_t *stream, _Bool status,
                                   const Descriptor *message, const char *file, int line)
{
    if (d->base) {
        if (!status) llgrad_fail(4, 0);
        return 1;
    }
    allocate(d, said, type_of(d, said), file, line);
    return 0;
}

API int llgrad_PointerAllocate(int said, int none, Descriptor *d, _Bool status, const Descriptor *message, const char *file,
                               int line)
{
    allocate(d, said, type_of(d, said), file, line);
    return 0;
}

/* A number, or numbers, in a `class(*)`: of the type and bytes that the source's descriptor says. */
INSIDE void allocate_numbers(Descriptor *d, int its, const Descriptor *source, int others)
{
    if (source->type == TYPE_DERIVED) llgrad_fail(4, 0);
    d->type = source->type, d->bytes = source->bytes;
    Array a = allocated(known(d, rank_of(d, its), source->type, source->bytes));
    set_strides(d, a);
    copy_anything(a, known(source, rank_of(source, others), source->type, source->bytes));
}

API int llgrad_AllocatableAllocateSource(int its, int others, Descriptor *d, const Descriptor *source, _Bool status,
                                         const Descriptor *message, const char *file, int line)
{
    Type t = within(type_of(source, others), its);
    tell(d, its);
    if (takes_numbers(d, its, t)) {
        if (d->base && !status) llgrad_fail(4, 0);
        if (d->base) return 1;
        allocate_numbers(d, its, source, others);
        return 0;
    }
    if (!t.is || strange(source, others, t))
        return _FortranAAllocatableAllocateSource(d, source, status, message, file, line);
    if (!d->base) TYPE_AT(d, rank_of(d, its)) = t.is, d->bytes = size_of(t);
    int failed = llgrad_AllocatableAllocate(its, 0, d, 0, status, message, file, line);
    if (!failed) assign_all(t, described(d, its, t), described(source, others, t));
    return failed;
}

API int llgrad_PointerAllocateSource(int its, int others, Descriptor *d, const Descriptor *source, _Bool status,
                                     const Descriptor *message, const char *file, int line)
{
    Type t = within(type_of(source, others), its);
    tell(d, its);
    if (takes_numbers(d, its, t)) {
        allocate_numbers(d, its, source, others);
        return 0;
    }
    if (!t.is || strange(source, others, t)) return _FortranAPointerAllocateSource(d, source, status, message, file, line);
    TYPE_AT(d, rank_of(d, its)) = t.is, d->bytes = size_of(t);
    allocate(d, its, t, file, line);
    assign_all(t, described(d, its, t), described(source, others, t));
    return 0;
}

INSIDE int let_go(Descriptor *d, int said, Type t, _Bool status)
{
    if (!d->base) {
        if (!status) llgrad_fail(4, 0);
        return 1;
    }
    if (strange(d, said, t)) {
        _FortranADestroy(d);
    } else if (t.is) {
        Array a = described(d, said, t), row = vector(a, elements(a));
        final_all(t, a);
        free_all(t, row);
    }
    free(d->base);
    d->base = 0;
    return 0;
}

#define DEALLOCATE(name)                                                       \
    API int llgrad_##name(int said, int none, Descriptor *d, _Bool status, const Descriptor *message, const char *file, int line) \
    {                                                                          \
        return let_go(d, said, type_of(d, said), status);                      \
    }
DEALLOCATE(AllocatableDeallocate)
DEALLOCATE(PointerDeallocate)

/* The type is the declared one again afterwards. */
#define DEALLOCATE_POLYMORPHIC(name)                                           \
    API int llgrad_##name(int said, int none, Descriptor *d, const void *declared, _Bool status, const Descriptor *message, \
                          const char *file, int line)                          \
    {                                                                          \
        int failed = let_go(d, said, type_of(d, said), status);                \
        if (declared && !is_flat(said)) TYPE_AT(d, rank_of(d, said)) = declared, d->bytes = size_of((Type){declared, 0}); \
        if (!declared && has_type(said)) TYPE_AT(d, rank_of(d, said)) = 0;     \
        return failed;                                                         \
    }
DEALLOCATE_POLYMORPHIC(AllocatableDeallocatePolymorphic)
DEALLOCATE_POLYMORPHIC(PointerDeallocatePolymorphic)

API int llgrad_MoveAlloc(int its, int others, Descriptor *to, Descriptor *from, const void *declared, _Bool status,
                         const Descriptor *message, const char *file, int line)
{
    Type t = type_of(from, others), old = type_of(to, its);
    if (to->base) let_go(to, its, old, 1);
    int failed = _FortranAMoveAlloc(to, from, declared, status, message, file, line);
    if (t.is && !is_flat(its)) TYPE_AT(to, rank_of(to, its)) = t.is;
    if (declared && t.is) TYPE_AT(from, rank_of(from, others)) = declared;
    return failed;
}

API _Bool llgrad_ClassIs(int said, int none, const Descriptor *d, const void *t)
{
    Type own = type_of(d, said);
    if (own.is && strange(d, said, own)) return _FortranAClassIs(d, t);
    for (int n = 0; n < 8 && own.is; n++, own = (Type){parent_of(own), 0})
        if (own.is == t) return 1;
    return 0;
}

/* `[p, q(2:3)]`: what the array constructor holds may move, which moves what it owns. */
API void llgrad_PushArrayConstructorValue(int none, int said, Constructor *c, const Descriptor *from)
{
    Type t = type_of(from, said);
    if (!t.is || strange(from, said, t)) {
        _FortranAPushArrayConstructorValue(c, from);
        return;
    }
    Array a = objects(c->to, 1, t), b = described(from, said, t);
    int64_t used = c->next, needed = used + elements(b), room = !a.base && a.n0 > needed ? a.n0 : needed;
    if (needed > c->room || !a.base) {
        Array larger = allocated(vector(a, room));
        if (a.base) memcpy(larger.base, a.base, used * a.bytes);
        free(a.base);
        a = larger;
        c->room = room;
    }
    a.n0 = a.n0 < needed ? needed : a.n0;
    set_known(c->to, a, 1);
    char *next = a.base + used * a.bytes;
    ROWS(b, {
        init_of(t, next);
        assign_of(t, next, AT(b, i, j, k, l));
        next += a.bytes;
    })
    c->next = needed;
}
