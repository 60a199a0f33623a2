"""Points-to sets, accesses, aliasing and what is overwritten, on compiled programs and on assembly."""

from __future__ import annotations

from typing import Any

import pytest
from compiled import c, ll, loads, named, pointees, short

from llgrad.analysis.memory.clobbers import Changes
from llgrad.analysis.memory.mod_ref import UNKNOWN, Memory, MemoryObject, analyse
from llgrad.ir.module import Module
from llgrad.ir.values import Call, Function


def of(module: Module, root: str, **options: Any) -> tuple[Memory, Function]:
    function = module.function(root)
    return analyse(module, function, **options), function


def calls(function: Function, name: str) -> list[Call]:
    found = [i for i in function.instructions() if isinstance(i, Call)]
    return [i for i in found if i.called_function is not None and i.called_function.name.startswith(name)]


# --- points-to


LIST = """
    struct node { struct node *next; double v; };
    double sum(struct node *n) { double s = 0; for (; n; n = n->next) s += n->v * n->v; return s; }
"""


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_a_list_in_an_argument_is_its_contents(level: str) -> None:
    memory, f = of(c(LIST, level), "sum")
    element = [i for i in loads(f, "double") if memory.reads(i)[0].objects != memory.points_to(f.entry.instructions[0])]
    assert any(short(memory.reads(i)[0].objects) >= {"argument n", "contents n"} for i in element)


FIELDS = """
    struct pair { double *a; double *b; };
    double __attribute__((noinline)) use(struct pair *p) { return p->a[0] * p->b[1]; }
    double f(double *x, double *y) { struct pair p = {x, y}; return use(&p); }
"""


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_fields_of_a_struct_are_told_apart_across_calls(level: str) -> None:
    module = c(FIELDS, level)
    memory, _ = of(module, "f")
    found = [pointees(memory, i) for i in module.function("use").instructions() if str(i.type) == "ptr"]
    assert {"argument x"} in found and {"argument y"} in found
    assert {"argument x", "argument y"} not in found


def test_an_element_that_is_counted_downwards_may_be_before_where_counting_begins() -> None:
    """`3 - 2 k` is at most three, though it is three and a multiple of two."""
    memory, f = of(ll("""
        define double @f(ptr %x, ptr %y, i64 %k) {
          %a = alloca [4 x ptr]
          %second = getelementptr i8, ptr %a, i64 8
          %last = getelementptr i8, ptr %a, i64 24
          store ptr %x, ptr %second
          store ptr %y, ptr %last
          %m = mul nuw nsw i64 %k, 2
          %n = sub nuw nsw i64 3, %m
          %at = getelementptr nuw ptr, ptr %a, i64 %n
          %p = load ptr, ptr %at
          %v = load double, ptr %p
          ret double %v
        }"""), "f")
    assert pointees(memory, named(f, "p")) == {"argument x", "argument y"}


def test_an_array_that_grows_is_as_far_on_as_the_old_one() -> None:
    """`new + (last - first)`: elements of 24 bytes, of which one keeps `x` at 0 and `y` at 8."""
    memory, f = of(ll("""
        declare noalias ptr @malloc(i64)
        define double @f(ptr %x, ptr %y, ptr %z, i64 %k, i64 %size) {
          %first = call ptr @malloc(i64 %size)
          %last = getelementptr [24 x i8], ptr %first, i64 %k
          %new = call ptr @malloc(i64 %size)
          %to = ptrtoint ptr %last to i64
          %from = ptrtoint ptr %first to i64
          %apart = sub i64 %to, %from
          %place = getelementptr i8, ptr %new, i64 %apart
          store ptr %x, ptr %place
          %beside = getelementptr i8, ptr %place, i64 8
          store ptr %y, ptr %beside
          %at = getelementptr i8, ptr %new, i64 56
          %p = load ptr, ptr %at
          %others = ptrtoint ptr %z to i64
          %far = sub i64 %to, %others
          %anywhere = getelementptr i8, ptr %new, i64 %far
          %v = load double, ptr %p
          ret double %v
        }"""), "f")
    assert {at for _, at in memory.places(named(f, "place"))} == {(24, 0)}
    assert pointees(memory, named(f, "p")) == {"argument y"}
    assert {at for _, at in memory.places(named(f, "anywhere"))} == {None}


def test_what_may_be_one_memory_may_be_any_distance_apart() -> None:
    """`to` is in an argument, or in `a`; `from` in another argument, or in `a`."""
    memory, f = of(ll("""
        define i8 @f(ptr %x, ptr %y, i1 %c) {
          %a = alloca [64 x i8]
          %eighth = getelementptr i8, ptr %a, i64 8
          %p = select i1 %c, ptr %x, ptr %eighth
          %q = select i1 %c, ptr %y, ptr %a
          %to = ptrtoint ptr %p to i64
          %from = ptrtoint ptr %q to i64
          %apart = sub i64 %to, %from
          %b = alloca [64 x i8]
          %place = getelementptr i8, ptr %b, i64 %apart
          %v = load i8, ptr %place
          ret i8 %v
        }"""), "f")
    assert {at for _, at in memory.places(named(f, "place"))} == {None}


def test_a_swap_through_double_pointers() -> None:
    memory, f = of(c("""
        double f(double **p, double **q, int n) {
            for (int i = 0; i < n; i++) { double *t = *p; *p = *q; *q = t; **p += **q; }
            return **p;
        }"""), "f")
    for i in loads(f, "ptr"):
        assert pointees(memory, i) == {"contents p", "contents q"}


def test_what_is_stored_through_one_argument_is_found_through_another() -> None:
    source = "double f(double **p, double **q, double *x) { *p = x; return **q; }"
    memory, f = of(c(source), "f")
    (loaded,) = loads(f, "ptr")
    assert pointees(memory, loaded) == {"contents q", "argument x"}
    apart, f = of(c(source.replace("**p, double **q", "**restrict p, double **restrict q")), "f")
    (loaded,) = loads(f, "ptr")
    assert pointees(apart, loaded) == {"contents q"}


def test_constant_arguments_are_not_found_to_hold_what_is_stored_elsewhere() -> None:
    module = c("double f(double **p, double **q, double *x) { *p = x; return **q; }")
    f = module.function("f")
    memory = analyse(module, f, constant_arguments={1})
    assert pointees(memory, loads(f, "ptr")[0]) == {"contents q"}


@pytest.mark.parametrize("level", ["0", "1"])
def test_memcpy_of_a_struct_copies_its_pointers(level: str) -> None:
    module = c("""
        struct s { long n; double *a; double *b; char rest[40]; };
        void keep(struct s *, struct s *);
        double f(struct s *p, double *x) {
            struct s one = *p, two; one.b = x; __builtin_memcpy(&two, &one, sizeof two);
            double *volatile b = two.b; double *volatile a = two.a;
            return a[0] + b[0];
        }""", level)
    memory, f = of(module, "f")
    found = [pointees(memory, i) for i in loads(f, "ptr")]
    assert {"contents p"} in found
    assert any("argument x" in s for s in found)


def test_copies_round_a_ring_of_variables_come_to_an_end() -> None:
    """Each a word further on; Python's stack is not what ends it."""
    ring = [f"%a{n}" for n in range(40)]
    lines = [f"{a} = alloca [4000 x ptr]" for a in ring] + ["store ptr %x, ptr %a0"]
    for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
        lines += [f"{b}.on = getelementptr i8, ptr {b}, i64 8"]
        lines += [f"call void @llvm.memcpy.p0.p0.i64(ptr {b}.on, ptr {a}, i64 31992, i1 false)"]
    lines += ["%there = getelementptr i8, ptr %a39, i64 312", "%p = load ptr, ptr %there"]
    lines += ["%v = load double, ptr %p", "ret double %v"]
    copy = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    memory, f = of(ll("\n".join(["define double @f(ptr %x) {", *lines, "}", copy])), "f")
    assert pointees(memory, named(f, "p")) == {"argument x"}


def test_pointers_travel_as_integers_vectors_and_aggregates() -> None:
    memory, f = of(ll("""
        define double @f(ptr %x, ptr %y, i1 %c, ptr %where) {
          %xi = ptrtoint ptr %x to i64
          %odd = or i64 %xi, 1
          %even = and i64 %odd, -2
          %back = inttoptr i64 %even to ptr
          %slot = alloca [2 x ptr]
          %v0 = insertelement <2 x ptr> poison, ptr %x, i64 0
          %v = insertelement <2 x ptr> %v0, ptr %y, i64 1
          store <2 x ptr> %v, ptr %slot
          %second = getelementptr i8, ptr %slot, i64 8
          %bits = load i64, ptr %second
          %fromload = inttoptr i64 %bits to ptr
          %a0 = insertvalue { ptr, double, ptr } poison, ptr %x, 0
          %a = insertvalue { ptr, double, ptr } %a0, ptr %y, 2
          %last = extractvalue { ptr, double, ptr } %a, 2
          %nowhere = inttoptr i64 4096 to ptr
          %n = load double, ptr %nowhere
          ret double %n
        }"""), "f")
    assert pointees(memory, named(f, "back")) == {"argument x"}
    assert pointees(memory, named(f, "fromload")) == {"argument x", "argument y"}
    assert pointees(memory, named(f, "last")) == {"argument y"}
    assert pointees(memory, named(f, "nowhere")) == {"unknown"}
    assert memory.reads(named(f, "n"))[0].objects == {UNKNOWN}


def test_bytes_copied_one_by_one() -> None:
    memory, f = of(ll("""
        define ptr @f(ptr %x, i64 %n) {
        entry:
          %a = alloca ptr
          %b = alloca ptr
          store ptr %x, ptr %a
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %j, %loop ]
          %s = getelementptr i8, ptr %a, i64 %i
          %d = getelementptr i8, ptr %b, i64 %i
          %byte = load i8, ptr %s
          store i8 %byte, ptr %d
          %j = add i64 %i, 1
          %c = icmp eq i64 %j, 8
          br i1 %c, label %end, label %loop
        end:
          %p = load ptr, ptr %b
          ret ptr %p
        }"""), "f")
    assert pointees(memory, named(f, "p")) == {"argument x"}


def test_pointer_increments_come_to_an_end() -> None:
    memory, f = of(ll("""
        define ptr @f(ptr %x) {
        entry:
          br label %loop
        loop:
          %p = phi ptr [ %x, %entry ], [ %q, %loop ]
          %q = getelementptr i8, ptr %p, i64 8
          %v = load double, ptr %p
          %c = fcmp oeq double %v, 0.0
          br i1 %c, label %end, label %loop
        end:
          ret ptr %p
        }"""), "f")
    assert None in {at for _, at in memory.places(named(f, "p"))}


CALLBACKS = """
    typedef double (*fn)(double *);
    static double one(double *p) { return p[0]; }
    static double two(double *p) { return p[1] * p[1]; }
    static double other(long n, double *p) { return p[n]; }
    double __attribute__((noinline)) apply(fn f, double *x) { return f(x); }
    double f(int c, double *x) { return apply(c ? one : two, x); }
    double g(fn f, double *x) { return f(x); }
    double (*keep)(long, double *) = other;
"""


def test_callbacks_inside_the_program() -> None:
    module = c(CALLBACKS)
    memory, _ = of(module, "f")
    (call,) = [i for i in module.function("apply").instructions() if isinstance(i, Call)]
    callees = memory.functions_called(call)
    assert {f.name for f in callees.functions} == {"one", "two"} and not callees.may_be_unknown
    assert short(memory.points_to(module.function("two").arguments[0])) == {"argument x"}


NEVER_SET = """
    #include <stdlib.h>
    typedef double (*fn)(double);
    struct hooks { fn first, second; };
    extern fn elsewhere[];                         /* of a library, and so is its length */
    static double twice(double x) { return 2 * x; }
    double f(double x) {
        struct hooks *h = calloc(1, sizeof *h);
        h->first = twice;
        return h->second ? h->second(x) : h->first(x);
    }
    double g(double x, int n) { return elsewhere[n](x); }
"""


def test_a_pointer_that_is_never_set_has_no_callees() -> None:
    module = c(NEVER_SET)
    memory, f = of(module, "f")
    found = [memory.functions_called(i) for i in f.instructions() if isinstance(i, Call) and not i.called_function]
    assert ((), False) in found and not any(unknown for _, unknown in found)


def test_implementations_of_tables_of_functions_get_their_own_objects() -> None:
    module = c("""
        #include <stdlib.h>
        struct v { void *content; struct ops *ops; double (*own)(struct v *); };
        struct ops { long id; double (*get)(struct v *); };
        static double first(struct v *a) { return *(double *)a->content; }
        static double second(struct v *b) { return *(double *)b->content; }
        static double third(struct v *c) { return *(double *)c->content; }
        static double fourth(struct v *d) { return *(double *)d->content; }
        double f(int n, double *x, double *y) {
            struct v *p = malloc(sizeof *p), *q = malloc(sizeof *q);
            p->content = x, p->ops = malloc(sizeof *p->ops), p->ops->get = first, p->own = third;
            q->content = y, q->ops = malloc(sizeof *q->ops), q->ops->get = second, q->own = fourth;
            double sum = 0;
            for (int i = 0; i < n; i++) { struct v *o = i % 3 ? p : q; sum += o->ops->get(o) + o->own(o); }
            return sum;
        }
    """)
    memory, _ = of(module, "f")
    places = [short(memory.points_to(module.function(g).arguments[0])) for g in ("first", "second", "third", "fourth")]
    assert places[0] == places[2] != places[1] == places[3] and all(len(p) == 1 for p in places)


def test_pointers_in_an_array_within_a_struct_are_not_those_beside_it() -> None:
    """By TBAA: which of the array's is meant is not known."""
    module = c("""
        #include <stdlib.h>
        struct leaf { double x; };
        struct node { struct leaf *before; struct node *child[4]; struct leaf *after; };
        struct node *f(struct leaf *leaf, int n) {
            struct node *a = malloc(sizeof *a);
            a->before = a->after = leaf;
            a->child[n & 3] = malloc(sizeof *a);
            return a->child[n >> 1 & 3];
        }
        struct leaf *g(struct leaf *leaf, int n) {
            struct node *a = malloc(sizeof *a);
            a->after = leaf;
            a->child[n & 3] = malloc(sizeof *a);
            return ((struct leaf **)a)[n];
        }
    """)
    memory, f = of(module, "f")
    assert {o.kind for o in memory.returned(f)} == {"heap"}
    memory, g = of(module, "g")
    assert "argument" in {o.kind for o in memory.returned(g)}


def test_tables_of_libraries_are_not_known() -> None:
    memory, f = of(c(NEVER_SET), "g")
    (call,) = [i for i in f.instructions() if isinstance(i, Call)]
    assert memory.functions_called(call).may_be_unknown
    text = """
        @_ZTV4Base = external unnamed_addr constant { [4 x ptr] }
        define void @f(ptr %slot) {
          store ptr getelementptr (i8, ptr @_ZTV4Base, i64 16), ptr %slot
          %table = load ptr, ptr %slot
          %target = load ptr, ptr %table
          call void %target(ptr %slot)
          ret void
        }
    """
    memory, f = of(ll(text), "f")
    (call,) = [i for i in f.instructions() if isinstance(i, Call)]
    assert memory.functions_called(call).may_be_unknown


def test_a_callback_of_the_caller_may_be_any_of_that_type() -> None:
    module = c(CALLBACKS)
    memory, f = of(module, "g")
    (call,) = [i for i in f.instructions() if isinstance(i, Call)]
    callees = memory.functions_called(call)
    assert callees.may_be_unknown
    assert {f.name for f in callees.functions} == {"one", "two"}
    assert memory.writes(call)[-1].objects >= {UNKNOWN}


def test_code_that_is_not_known_calls_back() -> None:
    module = c("""
        void each(void *, void (*)(double *, void *), void *);
        static double *seen;
        static void visit(double *p, void *q) { seen = p; *(double **)q = p; }
        double f(double *x, double *y) { double *z = 0; each(x, visit, &z); return *z + *y + *seen; }
    """)
    memory, _ = of(module, "f")
    p = module.function("visit").arguments[0]
    assert "argument x" in short(memory.points_to(p)) and UNKNOWN in memory.points_to(p)
    assert "argument y" not in short(memory.points_to(p))
    assert memory.called_back(module.function("visit"))


def test_globals_hold_their_initializers_and_what_was_stored_before() -> None:
    memory, f = of(c("""
        static const double table[2] = {1, 2}; static double spare[2];
        static const double *const fixed[2] = {table, spare}; double *open = spare;
        double f(int i) { return fixed[i][1] + open[0]; }
    """), "f")
    found = {frozenset(pointees(memory, i)) for i in loads(f, "ptr")}
    assert found == {frozenset({"global table", "global spare"}), frozenset({"global spare", "contents open"})}


def test_heap_sites_and_realloc() -> None:
    memory, f = of(c("""
        #include <stdlib.h>
        double f(int n, double *x) {
            double **rows = malloc(n * sizeof *rows); double *row = calloc(n, 8);
            rows[0] = row; rows = realloc(rows, 2 * n * sizeof *rows); rows[1] = x;
            double s = rows[0][n] + rows[1][n]; free(row); free(rows); return s;
        }""", "1"), "f")
    (moved,) = calls(f, "realloc")
    (old,), (fresh,) = calls(f, "malloc"), calls(f, "calloc")
    (heap,) = memory.points_to(moved)
    assert heap == MemoryObject("heap", moved, f)
    assert short(memory.contents(heap)) >= {f"heap {fresh.name}"}
    assert {o for a in memory.frees(moved) for o in a.objects} == memory.points_to(old)
    assert memory.is_local(heap) and not Changes(memory).never_written(heap)


def test_code_that_is_not_known_keeps_what_it_is_given() -> None:
    memory, f = of(ll("""
        declare ptr @exchange(ptr)
        declare double @look(ptr captures(none)) memory(argmem: read)
        declare void @tell()
        define double @f(ptr %x, ptr %y) {
          %kept = alloca ptr
          %own = alloca double
          store ptr %own, ptr %kept
          %got = call ptr @exchange(ptr %kept)
          %seen = call double @look(ptr %y)
          call void @tell()
          %again = load ptr, ptr %kept
          %v = load double, ptr %again
          ret double %v
        }"""), "f")
    assert pointees(memory, named(f, "got")) >= {"unknown", "stack kept", "stack own"}
    assert pointees(memory, named(f, "again")) >= {"unknown", "stack own"}
    assert not memory.writes(named(f, "seen"))
    assert short(memory.reads(named(f, "seen"))[0].objects) == {"argument y", "contents y"}
    (tell,) = calls(f, "tell")
    (own,) = memory.points_to(named(f, "own"))
    assert memory.escapes(own)
    assert any(memory.may_alias(w, memory.reads(named(f, "v"))[0]) for w in memory.writes(tell))


def test_input_and_questions_about_files_find_no_pointers() -> None:
    memory, _ = of(c("""
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        struct model { FILE *in; char *title; double *weights; char name[16]; int size; };
        double f(struct model *given) {
            struct model *m = calloc(1, sizeof *m);
            m->in = fopen("model", "rb");
            if (m->in && isatty(fileno(m->in)) == 0 && fread(m->name, 1, 20, m->in) == 20) {
                m->title = strdup(m->name);
                fseek(m->in, m->size, SEEK_SET);
                if (fscanf(m->in, "%d", &m->size) != 1) return ftell(m->in);
            }
            m->weights = malloc(m->size * sizeof(double));
            return m->weights[0];
        }
    """), "f")  # fmt: skip
    assert not memory.exposed & {o for o in memory.objects if o.kind == "heap"}
    assert not any(UNKNOWN in memory.points_to(i) for i in memory.root.instructions())


def test_what_returns_its_first_argument_returns_no_other() -> None:
    """Not what an integer that is written into a stream may hold, as far as is known."""
    module = ll("""
        declare ptr @_ZNSo9_M_insertIyEERSoT_(ptr, i64)
        declare ptr @strchr(ptr, i32)
        define void @f(ptr %x, ptr %text) {
          %stream = alloca [400 x i8]
          %number = ptrtoint ptr %x to i64
          %same = call ptr @_ZNSo9_M_insertIyEERSoT_(ptr %stream, i64 %number)
          %found = call ptr @strchr(ptr %text, i32 7)
          ret void
        }
    """)
    memory, f = of(module, "f")
    assert memory.points_to(named(f, "same")) == memory.points_to(named(f, "stream"))
    assert memory.points_to(named(f, "found")) == memory.points_to(f.arguments[1])


def test_callees_of_no_known_origin_are_unknown_code() -> None:
    memory, f = of(ll("""
        @_ZTV5Thing = external constant { [4 x ptr] }
        define double @f(ptr %x) {
          %slot = getelementptr i8, ptr @_ZTV5Thing, i64 16
          %method = load ptr, ptr %slot
          %own = alloca ptr
          store ptr null, ptr %own
          call void %method(ptr %own)
          %p = load ptr, ptr %own
          %v = load double, ptr %p
          ret double %v
        }"""), "f")
    assert pointees(memory, named(f, "p")) == {"unknown", "stack own"}


# --- aliasing


def alias(memory: Memory, f: Function, a: str, b: str) -> bool:
    return memory.may_alias(memory.reads(named(f, a))[0], memory.reads(named(f, b))[0])


TWO = """
    @g = global double 0.0
    @k = constant double 1.0
    declare noalias ptr @malloc(i64)
    define double @f(ptr %x, ptr noalias %y, ptr %z, i64 %i) {
      %s = alloca double
      %h = call ptr @malloc(i64 16)
      %x1 = getelementptr double, ptr %x, i64 1
      %xi = getelementptr double, ptr %x, i64 %i
      %xi1 = getelementptr double, ptr %xi, i64 1
      %zp = load ptr, ptr %z
      %lx = load double, ptr %x
      %lx1 = load double, ptr %x1
      %lx4 = load float, ptr %x1
      %lxi = load double, ptr %xi
      %lxi1 = load double, ptr %xi1
      %ly = load double, ptr %y
      %lz = load double, ptr %z
      %lzp = load double, ptr %zp
      %ls = load double, ptr %s
      %lh = load double, ptr %h
      %lg = load double, ptr @g
      %over = getelementptr i8, ptr %x, i64 4
      %lo = load double, ptr %over
      ret double %lx
    }
"""


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("lx", "lx", True), ("lx", "lx1", False), ("lx", "lo", True), ("lx1", "lo", True), ("lx1", "lx4", True),
        ("lx", "lxi", True), ("lxi", "lxi1", False), ("lx", "ly", False), ("lx", "lz", True), ("lx", "lzp", True),
        ("ly", "lzp", False), ("ls", "lx", False), ("ls", "lzp", False), ("lh", "lx", False), ("ls", "lh", False),
        ("lg", "lx", True), ("lg", "ls", False), ("lz", "lzp", True), ("lg", "lzp", True),
    ],
)  # fmt: skip
def test_aliasing(a: str, b: str, expected: bool) -> None:
    memory, f = of(ll(TWO), "f")
    assert alias(memory, f, a, b) is expected
    assert alias(memory, f, b, a) is expected


def test_distinct_arguments_are_taken_at_their_word() -> None:
    memory, f = of(ll(TWO), "f", distinct_arguments=True)
    assert not alias(memory, f, "lx", "lz")
    assert alias(memory, f, "lx", "lzp")


def test_types_tell_apart_what_pointers_do_not() -> None:
    memory, f = of(c("""
        struct a { int n; double v; }; struct b { double v; int n; };
        double f(struct a *p, struct b *q, char *r, float *s, double *t) {
            double x = p->v; q->n = 1; *r = 2; *s = 3; *t = 4; q->v = 5; p->n = 6; return x + q->n; }"""), "f")
    (read,) = (memory.reads(i)[0] for i in loads(f, "double"))
    hits = [str(memory.writes(i)[0].tbaa) for i in f.instructions() if memory.writes(i)
            and memory.may_alias(read, memory.writes(i)[0])]  # fmt: skip
    assert len(hits) == 2
    assert any("char" in h for h in hits) and "double+0:double" in hits


def test_returned_and_stored_memory_escapes() -> None:
    memory, f = of(c("""
        #include <stdlib.h>
        double *f(double **p) {
            double *a = malloc(8), *b = malloc(8), *c = malloc(16); c[0] = 1; c[1] = 2;
            *p = b; *a = c[rand() % 2]; free(c); return a; }"""), "f")
    escapes = sorted(memory.escapes(o) for o in memory.objects if o.kind == "heap")
    assert escapes == [False, True, True]


def test_printing_names_what_there_is() -> None:
    memory, _ = of(ll(TWO), "f")
    assert "argument %x of @f (escapes) -> {contents %x of @f}" in str(memory)


def test_members_of_elements_are_told_apart_and_stay_so_when_copied() -> None:
    memory, f = of(c("""
        #include <stdlib.h>
        #include <string.h>
        struct pair { double *a; double *b; };
        double f(double *x, double *y, long n) {
            struct pair *p = malloc(n * sizeof *p), *q = malloc(n * sizeof *q);
            for (long i = 0; i < n; i++) { p[i].a = x; p[i].b = y; }
            memcpy(q + 1, p, (n - 1) * sizeof *p);
            double s = 0;
            for (struct pair *r = q; r < q + n; r++) s += *r->a;
            return s + *q[n / 2].b;
        }
    """, "0"), "f")
    found = [frozenset(short(memory.reads(i)[0].objects)) for i in loads(f, "double")]
    assert frozenset({"argument x"}) in found and frozenset({"argument y"}) in found
