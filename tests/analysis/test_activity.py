"""What is varied, useful, active and shadowed, on compiled programs and on assembly."""

from __future__ import annotations

import pytest
from compiled import c, ll, loads, named, short, stores

from llgrad.analysis.activity.activity import Act, Activity, analyse
from llgrad.analysis.memory import mod_ref as memory_analysis
from llgrad.ir.module import Module
from llgrad.ir.values import Call, Function, Instruction


def of(
    module: Module, root: str, acts: str, *, mode: str = "reverse", kinds: object = None
) -> tuple[Activity, Function]:
    """`acts` are those of the arguments, then that of the result: "dup const out"."""
    function = module.function(root)
    *arguments, result = (Act(a) for a in acts.split())
    memory = memory_analysis.analyse(
        module, function, constant_arguments={i for i, a in enumerate(arguments) if a is Act.CONST}
    )
    return analyse(memory, arguments, result, mode, kinds), function  # type: ignore[arg-type]


def active_names(activity: Activity, function: Function) -> set[str]:
    return {v.name for v in (*function.arguments, *function.instructions()) if activity.active(v)}


def calls(function: Function) -> list[Call]:
    return [i for i in function.instructions() if isinstance(i, Call)]


def objects(activity: Activity) -> set[str]:
    return short(activity.active_objects)


def test_active_is_another_word_for_out() -> None:
    assert Act("active") is Act.OUT


def test_acts_must_fit_the_function() -> None:
    module = ll("define void @f(double %x) {\n  ret void\n}\n")
    memory = memory_analysis.analyse(module, module.function("f"))
    with pytest.raises(ValueError, match="1 arguments, not 2"):
        analyse(memory, (Act.OUT, Act.OUT), Act.CONST)


# --- values


def test_varied_and_useful_both() -> None:
    activity, f = of(ll("""
        define double @f(double %x, double %y, i64 %n) {
          %onlyvaried = fmul double %x, %x
          %nf = sitofp i64 %n to double
          %onlyuseful = fadd double %y, %nf
          %both = fmul double %x, %onlyuseful
          %cut = fptosi double %x to i64
          %back = sitofp i64 %cut to double
          %r = fadd double %both, %back
          %c = fcmp olt double %onlyvaried, 1.0
          %s = select i1 %c, double %r, double 2.0
          ret double %s
        }"""), "f", "out const const out")
    assert active_names(activity, f) == {"x", "both", "r", "s"}
    assert activity.varied(named(f, "onlyvaried")) and not activity.useful(named(f, "onlyvaried"))
    assert activity.useful(named(f, "onlyuseful")) and not activity.varied(named(f, "onlyuseful"))
    assert not activity.bits_changed


def test_an_inactive_result_makes_everything_inactive() -> None:
    text = "define double @f(double %x) {\n  %y = fmul double %x, %x\n  ret double %y\n}\n"
    activity, f = of(ll(text), "f", "out const")
    assert not active_names(activity, f)


def test_float_bits_in_integers_stay_varied() -> None:
    activity, f = of(ll("""
        define double @f(ptr %x) {
          %s = alloca [2 x i64]
          %b = load i64, ptr %x
          store i64 %b, ptr %s
          %lo = trunc i64 %b to i32
          %hi = lshr i64 %b, 32
          %loz = zext i32 %lo to i64
          %his = shl i64 %hi, 32
          %whole = or i64 %his, %loz
          %d = bitcast i64 %whole to double
          %v = load <2 x i32>, ptr %s
          %w = bitcast <2 x i32> %v to double
          %a0 = insertvalue { i64, i64 } poison, i64 %b, 0
          %a = extractvalue { i64, i64 } %a0, 0
          %e = bitcast i64 %a to double
          %r0 = fadd double %d, %w
          %r = fadd double %r0, %e
          ret double %r
        }"""), "f", "dup out")
    assert active_names(activity, f) >= {"b", "lo", "hi", "loz", "his", "whole", "d", "v", "w", "a0", "a", "e", "r"}
    assert not activity.bits_changed
    assert not activity.shadowed(named(f, "lo"))


def test_arithmetic_on_float_bits_is_noted() -> None:
    activity, f = of(ll("""
        declare i64 @llvm.bswap.i64(i64)
        define double @f(double %x) {
          %b = bitcast double %x to i64
          %half = lshr i64 %b, 1
          %magic = sub i64 6910469410427058090, %half
          %guess = bitcast i64 %magic to double
          %swap = call i64 @llvm.bswap.i64(i64 %b)
          %odd = bitcast i64 %swap to double
          %unused = add i64 %b, 1
          %r = fadd double %guess, %odd
          ret double %r
        }"""), "f", "out out")
    assert {i.name for i in activity.bits_changed} == {"half", "magic", "swap"}


def test_integers_from_memory_that_never_become_floats_are_inactive() -> None:
    activity, f = of(ll("""
        define double @f(ptr %x) {
          %n = load i64, ptr %x
          %m = add i64 %n, 1
          %p = getelementptr double, ptr %x, i64 %m
          %v = load double, ptr %p
          ret double %v
        }"""), "f", "dup out")
    assert active_names(activity, f) == {"v"}
    assert not activity.bits_changed


COUNTED = """
    struct s { %s n; double v; };
    double f(struct s *p) { p->n = p->n + 1; return p->v * (double)p->n; }
"""


@pytest.mark.parametrize(("integer", "level", "clean"), [("long", "1", True), ("int", "2", True), ("long", "0", False)])
def test_tbaa_says_what_is_an_integer(integer: str, level: str, clean: bool) -> None:
    activity, f = of(c(COUNTED % integer, level), "f", "dup out")
    assert bool(activity.bits_changed) is not clean
    assert any(activity.active(i) for i in loads(f, "double"))


def test_kinds_say_what_is_an_integer() -> None:
    class Kinds:
        def may_hold_float(self, v: object) -> bool:
            return "i64" not in str(getattr(v, "type", ""))

        def value(self, v: object) -> object:
            raise AssertionError

        def is_number_use(self, i: object) -> bool:
            return False

    activity, _ = of(c(COUNTED % "long", "0"), "f", "dup out", kinds=Kinds())
    assert not activity.bits_changed


# --- memory


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_constant_pointers_hold_constants(level: str) -> None:
    activity, f = of(c("""
        double f(const double *a, const double *x, int n) {
            double s = 0; for (int i = 0; i < n; i++) s += a[i] * x[i]; return s;
        }""", level), "f", "const dup const out")
    (a, x, _) = f.arguments
    assert not activity.shadowed(a) and activity.shadowed(x)
    doubles = [i for i in loads(f, "double") if not activity.memory.reads(i)[0].objects <= activity.memory.points_to(a)]
    assert any(activity.active(i) for i in doubles)
    from_a = [i for i in loads(f, "double") if activity.memory.reads(i)[0].objects == activity.memory.points_to(a)]
    assert from_a and not any(activity.active(i) for i in from_a)


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_lists_are_active_all_the_way(level: str) -> None:
    activity, f = of(c("""
        struct node { struct node *next; double v; };
        double f(struct node *n) { double s = 0; for (; n; n = n->next) s += n->v * n->v; return s; }
    """, level), "f", "dup out")
    assert objects(activity) >= {"argument n", "contents n"}
    assert all(activity.shadowed(i) for i in loads(f, "ptr"))
    assert not any(activity.mixed(i) for i in loads(f, "ptr"))


FIELDS = """
    struct context { const double *data; double *x; double (*fun)(double); };
    static double square(double v) { return v * v; }
    double __attribute__((noinline)) run(struct context *c, int n) {
        double s = 0; for (int i = 0; i < n; i++) s += c->fun(c->x[i]) * c->data[i]; return s; }
    double f(const double *data, double *x, int n) { struct context c = {data, x, square}; return run(&c, n); }
"""


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_a_struct_of_constant_and_active_pointers(level: str) -> None:
    module = c(FIELDS, level)
    activity, f = of(module, "f", "const dup const out")
    run = module.function("run")
    found = [(str(short(activity.memory.points_to(i))), activity.shadowed(i)) for i in loads(run, "ptr")]
    assert ("{'argument data'}", False) in found and ("{'argument x'}", True) in found
    assert not any(activity.mixed(i) for g in activity.memory.functions for i in g.instructions())
    assert activity.argument_activity(run, 0) is Act.DUP
    assert activity.argument_activity(run, 1) is Act.CONST
    assert activity.result_activity(run) is Act.OUT
    square = module.function("square")
    assert activity.argument_activity(square, 0) is Act.OUT
    assert all(activity.active_call(i) for i in calls(f) + calls(run) if str(i.type) == "double")


def test_forward_mode_has_tangents_beside_values() -> None:
    module = c(FIELDS)
    activity, _ = of(module, "f", "const dup const dup", mode="forward")
    assert activity.argument_activity(module.function("square"), 0) is Act.DUP
    assert activity.result_activity(module.function("run")) is Act.DUP


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_buffers_that_are_swapped_are_both_shadowed(level: str) -> None:
    activity, f = of(c("""
        #include <stdlib.h>
        double f(const double *x, int n) {
            double *a = malloc(n * 8), *b = calloc(n, 8);
            for (int i = 0; i < n; i++) a[i] = x[i];
            for (int k = 0; k < 9; k++) {
                for (int i = 1; i < n; i++) b[i] = a[i] * a[i - 1];
                double *t = a; a = b; b = t;
            }
            double r = a[0]; free(a); free(b); return r;
        }""", level), "f", "dup const out")
    heap = [o for o in activity.memory.objects if o.kind == "heap"]
    assert len(heap) == 2 and all(activity.object_active(o) for o in heap)
    frees = [i for i in calls(f) if i.called_function is not None and i.called_function.name == "free"]
    assert frees and all(activity.active_call(i) for i in frees)


def test_inactive_memory_that_merges_with_active_memory_gets_a_shadow() -> None:
    activity, f = of(ll("""
        define double @f(ptr %x, i1 %c) {
          %one = alloca double
          %two = alloca double
          %alone = alloca double
          %v = load double, ptr %x
          store double %v, ptr %one
          store double 1.0, ptr %two
          store double 1.0, ptr %alone
          %p = select i1 %c, ptr %one, ptr %two
          %r = load double, ptr %p
          %k = load double, ptr %alone
          %s = fmul double %r, %k
          ret double %s
        }"""), "f", "dup const out")
    assert {n: activity.shadowed(named(f, n)) for n in ("one", "two", "alone", "p")} == {
        "one": True, "two": True, "alone": False, "p": True}  # fmt: skip
    assert objects(activity) == {"argument x", "contents x", "stack one"}
    assert not activity.active(named(f, "k")) and activity.mixed(named(f, "p")) is None


def test_constant_arguments_that_merge_with_active_ones_are_mixed() -> None:
    activity, f = of(ll("""
        @table = constant [2 x double] [double 1.0, double 2.0]
        define double @f(ptr %x, ptr %k, i1 %c, i64 %n) {
          %p = select i1 %c, ptr %x, ptr %k
          %q = select i1 %c, ptr %x, ptr @table
          %w = inttoptr i64 %n to ptr
          %o = select i1 %c, ptr %x, ptr %w
          %a = load double, ptr %p
          %b = load double, ptr %q
          %d = load double, ptr %o
          %r0 = fadd double %a, %b
          %r = fadd double %r0, %d
          ret double %r
        }"""), "f", "dup const const const out")
    mixture = activity.mixed(named(f, "p"))
    assert mixture is not None
    assert short(mixture.constant) == {"argument k"} and short(mixture.shadowed) == {"argument x"}
    assert "argument %k of @f (no shadow)" in str(mixture)
    assert activity.mixed(named(f, "q")) is None and activity.shadowed(named(f, "q"))
    assert activity.mixed(named(f, "o")) is not None
    assert activity.mixed(f.arguments[0]) is None and not activity.shadowed(f.arguments[1])


def test_globals_are_active_where_varied_data_reaches_them() -> None:
    activity, _ = of(c("""
        static double state, spare; const double scale = 3;
        void __attribute__((noinline)) step(double v) { state = state * scale + v; }
        double f(double x, int n) { for (int i = 0; i < n; i++) step(x); spare = n; return state + spare; }
    """), "f", "out const out")
    assert {n for n in objects(activity) if n.startswith("global")} == {"global state"}


def test_memory_that_llgrad_cannot_shadow() -> None:
    activity, f = of(c("""
        extern double *work;
        double f(double x) { work[0] = x; return work[0] * x; }""", "0"), "f", "out out")
    assert short(activity.shadowless) == {"contents work"}
    assert any(activity.mixed(i) for i in loads(f, "ptr"))


def test_what_is_kept_in_constant_memory_is_a_conflict() -> None:
    source = "double f(double x, double *k, double *restrict y) { k[0] = x; y[0] = 1; return %s; }"
    activity, f = of(c(source % "k[1]"), "f", "out const const out")
    assert [(i.opcode, str(o)) for i, o in activity.conflicts] == [("store", "argument %k of @f")]
    activity, f = of(c(source % "y[1] * x"), "f", "out const const out")
    assert not activity.conflicts


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_copies_of_structs_carry_activity_and_pointers(level: str) -> None:
    activity, f = of(c("""
        struct s { double v[6]; double *p; };
        double f(const struct s *x) {
            struct s t = *x; t.v[1] *= 2; const struct s *volatile q = &t; return q->v[1] * *q->p; }
    """, level), "f", "dup out")
    assert any(n.startswith("stack") for n in objects(activity))
    doubles = [i for i in loads(f, "double") if "contents x" in short(activity.memory.reads(i)[0].objects)]
    assert doubles and all(activity.active(i) for i in doubles)


def test_a_table_of_pointers_is_shadowed_though_it_holds_no_floats() -> None:
    activity, f = of(ll("""
        declare ptr @malloc(i64)
        define double @f(double %x) {
          %rows = call ptr @malloc(i64 8)
          %row = call ptr @malloc(i64 8)
          store ptr %row, ptr %rows
          store double %x, ptr %row
          %r = load ptr, ptr %rows
          %v = load double, ptr %r
          ret double %v
        }"""), "f", "out out")
    assert objects(activity) == {"heap row"}
    assert activity.shadowed(named(f, "rows")) and all(activity.active_call(i) for i in calls(f))


def test_returned_memory_is_an_output_when_it_is_dup() -> None:
    source = """
        #include <stdlib.h>
        double *f(double x) { double *p = malloc(16); p[0] = x * x; p[1] = 0; return p; }"""
    activity, f = of(c(source), "f", "out dup")
    assert any(activity.active(i) for i in f.instructions()) and activity.shadowed(calls(f)[0])
    activity, f = of(c(source), "f", "out const")
    assert not active_names(activity, f)


# --- calls


def test_known_functions() -> None:
    activity, f = of(c("""
        #include <math.h>
        #include <stdio.h>
        double f(double x, const char *name) {
            int k; double m = frexp(x, &k); double s, w; __builtin_sincos(x, &s, &w);
            printf("%s %g\\n", name, x);
            return m * k + s + floor(x) + ldexp(x, k); }"""), "f", "out const out")
    by_name = {i.called_function.name: i for i in calls(f) if i.called_function is not None}
    assert activity.active(by_name["frexp"]) and activity.active(by_name["ldexp"])
    assert not any(activity.active(i) for n, i in by_name.items() if "floor" in n)
    assert not activity.active_call(by_name["printf"])
    sincos = next(i for n, i in by_name.items() if "sincos" in n)
    assert activity.active_call(sincos)
    k = next(o for o in activity.memory.objects if o.kind == "stack" and o.site is not None and o.site.name == "k")
    assert not activity.object_active(k)


def test_an_operand_by_which_a_rule_has_no_partial_is_not_active() -> None:
    activity, f = of(c("""
        #include <math.h>
        double f(double x) { return copysign(2, sin(x)) + nextafter(cos(x), exp(x)); }"""), "f", "out out")
    called = [i.called_function for i in calls(f) if activity.active(i)]
    assert {g.name for g in called if g is not None} == {"nextafter", "cos"}


def test_functions_that_are_not_known_are_active_if_they_may_see_anything_active() -> None:
    activity, f = of(ll("""
        declare double @mystery(double)
        declare double @quiet(double) "enzyme_inactive"
        declare void @fill(ptr)
        declare i32 @count()
        define double @f(double %x, double %k) {
          %s = alloca double
          store double %x, ptr %s
          %a = call double @mystery(double %x)
          %b = call double @mystery(double %k)
          %c = call double @quiet(double %x)
          call void @fill(ptr %s)
          %n = call i32 @count()
          %v = load double, ptr %s
          %r0 = fadd double %a, %v
          %r1 = fadd double %r0, %b
          %r = fadd double %r1, %c
          ret double %r
        }"""), "f", "out const out")
    mystery, constant, quiet, fill, _ = calls(f)
    assert activity.active(mystery) and activity.active_call(mystery) and activity.active_call(fill)
    assert not activity.active(quiet) and not activity.active_call(quiet)
    assert activity.active(constant)  # it may have kept x from the call before, or s


def test_functions_that_do_nothing_for_the_derivative() -> None:
    module = c("""
        static int __attribute__((noinline)) size(const double *x, const int *n) { return x[0] > 0 ? *n : 1; }
        static void __attribute__((noinline)) scale(double *x, int n) { for (int i = 0; i < n; i++) x[i] *= 2; }
        static void __attribute__((noinline)) clear(double *x) { x[0] = 0; }
        double f(double *x, int *n) { int m = size(x, n); scale(x, m); clear(x + 1); return x[0]; }
    """)
    activity, f = of(module, "f", "dup const out")
    assert {i.called_function.name: activity.active_call(i) for i in calls(f) if i.called_function} == {
        "size": False, "scale": True, "clear": True}  # fmt: skip
    assert activity.result_activity(module.function("size")) is Act.CONST


def test_recursion_and_joined_call_sites() -> None:
    module = c("""
        static double __attribute__((noinline)) power(double x, double k, int n) {
            return n ? x * k * power(x, k, n - 1) : 1; }
        double f(double x, double k) { return power(x, k, 3) + power(k, k, 2); }
    """, "0")
    activity, _ = of(module, "f", "out const out")
    power = module.function("power")
    assert [str(activity.argument_activity(power, i)) for i in range(3)] == ["out", "const", "const"]


def test_callbacks_of_unknown_code_are_reached() -> None:
    module = c("""
        void each(double *, void (*)(double *, double));
        static void add(double *p, double v) { *p += v; }
        double f(double *x) { double t = x[0] * x[0]; each(&t, add); return t; }
    """)
    activity, _ = of(module, "f", "dup out")
    assert activity.active(module.function("add").arguments[1])
    assert all(activity.active(i) for i in loads(module.function("add"), "double"))


def test_atomics_and_vectors() -> None:
    activity, f = of(ll("""
        define double @f(ptr %x, <2 x double> %v) {
          %e = extractelement <2 x double> %v, i64 0
          %old = atomicrmw fadd ptr %x, double %e seq_cst
          %s = shufflevector <2 x double> %v, <2 x double> poison, <2 x i32> <i32 1, i32 0>
          %i = insertelement <2 x double> %s, double %old, i64 0
          %r = extractelement <2 x double> %i, i64 1
          ret double %r
        }"""), "f", "dup out out")
    assert active_names(activity, f) == {"v", "e", "old", "s", "i", "r"}
    assert not activity.bits_changed


# --- words


def test_explanations() -> None:
    activity, f = of(ll("""
        define double @f(ptr %x, double %k) {
          %v = load double, ptr %x
          %w = fmul double %v, %k
          %z = fadd double %k, 1.0
          ret double %w
        }"""), "f", "dup const out")
    text = activity.explain(named(f, "w"))
    assert text == (
        "active: varied by argument %x of @f -> load %v -> fmul %w; useful by fmul %w -> the result of @f"
    )
    assert activity.explain(named(f, "z")) == "inactive: it depends on no active input, nor any output on it"
    assert activity.explain(f.arguments[0]) == "shadowed: may point to argument %x of @f"
    assert "@f: %v %w" in str(activity)


def test_every_store_of_an_active_value_goes_to_active_memory() -> None:
    """A property that unification and propagation must keep, on a program with everything in it."""
    module = c("""
        #include <stdlib.h>
        struct m { int n; double *d; struct m *next; };
        static struct m *__attribute__((noinline)) make(int n) {
            struct m *m = malloc(sizeof *m); m->n = n; m->d = calloc(n, 8); m->next = 0; return m; }
        static void __attribute__((noinline)) mul(struct m *c, const struct m *a, const double *x) {
            for (int i = 0; i < c->n; i++) c->d[i] = a->d[i] * x[i]; }
        double f(const double *x, const double *k, int n) {
            struct m *a = make(n), *b = make(n), *h = make(n); a->next = b;
            for (int i = 0; i < n; i++) { a->d[i] = k[i]; h->d[i] = k[i] * 2; }
            mul(b, a, x);
            double s = 0; for (struct m *p = a; p; p = p->next) for (int i = 0; i < n; i++) s += p->d[i];
            return s * h->d[0]; }
    """)
    activity, _ = of(module, "f", "dup const const out")
    seen = 0
    for function in activity.memory.functions:
        for i in function.instructions():
            assert_sound(activity, i)
            seen += any(activity.active(v) for v in i.operands)
        for i in stores(function, "double"):
            if activity.active(i.value):
                assert activity.shadowed(i.pointer) and not activity.mixed(i.pointer)
    assert seen > 5


def assert_sound(activity: Activity, i: Instruction) -> None:
    if activity.active(i) and i.opcode == "load":
        assert activity.shadowed(i.operands[0])
    if activity.shadowed(i) and i.opcode in ("getelementptr", "phi", "load"):
        assert activity.shadowed(i.operands[0]) or i.opcode == "phi"


def test_tables_of_the_library_lead_to_nothing_active() -> None:
    """Unknown code has to do with the public variable, and unknown memory is behind the tables that are not at hand."""
    activity, f = of(ll("""
        @last = global double 0.0
        @_ZTVSt9bad_alloc = external constant { [5 x ptr] }
        @_ZTV5Other = external constant { [5 x ptr] }
        declare ptr @malloc(i64)
        define double @f(double %x) {
          store double %x, ptr @last
          %library = call ptr @malloc(i64 8)
          store ptr getelementptr (i8, ptr @_ZTVSt9bad_alloc, i64 16), ptr %library
          %other = call ptr @malloc(i64 8)
          store ptr getelementptr (i8, ptr @_ZTV5Other, i64 16), ptr %other
          %r = load double, ptr @last
          ret double %r
        }
    """), "f", "out out")
    shadowed = {v.name for v in f.instructions() if activity.shadowed(v)}
    assert shadowed == {"other"}


# --- code that leads to no return

ENDS = """
    #include <stdlib.h>
    void report(double *);                        /* of a library: no rule for it */
    __attribute__((noinline)) static void shown(double v) { report(&v); }
    double f(double x) {
        if (x < 0) { shown(x * x); abort(); }
        return x * x;
    }
    double g(double x) {
        if (x < 0) shown(x * x);
        return x * x;
    }
    void h(double x, double *y) {
        *y = x;
        if (x < 0) { *y = x * x; shown(x); abort(); }
    }
"""


def test_what_is_called_on_the_way_to_an_end_is_not_differentiated() -> None:
    module = c(ENDS)
    for root, acts, followed in (("f", "out out", False), ("g", "out out", True), ("h", "out dup const", True)):
        activity, _ = of(module, root, acts)
        assert (module.function("shown") in activity.functions) == followed, root
