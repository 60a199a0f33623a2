"""Programs written for Enzyme's C interface, compiled, differentiated and run; each checks itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from llgrad.errors import LlgradError
from llgrad.frontends import compile_sources
from llgrad.frontends.c.clang import find_compiler
from llgrad.llvm import LLVMModule
from llgrad.programs.program import optimise_program, read_ir

PROGRAMS = Path(__file__).parent / "calls"


def built(path: Path, to: Path, *flags: str, level: int = 2) -> Path:
    """The executable of a program, differentiated between clang's front and back end."""
    compiler = [*find_compiler().c]
    ir, out, exe = (to / n for n in ("in.ll", "out.ll", "prog"))
    subprocess.run([*compiler, *flags, "-S", "-emit-llvm", path, "-o", ir], check=True, capture_output=True)
    out.write_text(optimise_program(LLVMModule.read(ir.read_bytes(), trusted=False), level).text())
    assert not re.search(r"@\S*__enzyme", out.read_text())
    subprocess.run([*compiler, "-O1", out, "-o", exe, "-lm"], check=True, capture_output=True)
    return exe


FLAGS = {0: ["-O0", "-g"], 2: ["-O2", "-Xclang", "-disable-llvm-passes", "-g"]}


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.c")), ids=lambda p: p.stem)
def test_program(path: Path, level: int, tmp_path: Path) -> None:
    exe = built(path, tmp_path, *FLAGS[level], level=level)
    done = subprocess.run([exe], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_of_functions_that_are_always_inlined(tmp_path: Path) -> None:
    path = tmp_path / "inlined.c"
    path.write_text("""
        double __enzyme_autodiff(void *, ...);
        __attribute__((always_inline)) static inline double seven(double x) { return 7; }
        static void *seven_augmented(double x) { return 0; }
        static double seven_reverse(double x, double seed, void *tape) { return 100 * x * seed; }
        void *__enzyme_register_gradient_seven[] = {(void *)seven, (void *)seven_augmented, (void *)seven_reverse};
        static double f(double x) { return seven(x) * x; }
        int main(void) { return __enzyme_autodiff((void *)f, 0.5) == 7 + 25 ? 0 : 1; }
    """)
    assert subprocess.run([built(path, tmp_path, *FLAGS[2])], check=False).returncode == 0


@pytest.mark.parametrize("level", [0, 2])
def test_rules_without_a_value_at_second_order(level: int, tmp_path: Path) -> None:
    """The inner derivative calls the function for its value, which has the rule in the outer one."""
    path = tmp_path / "second.c"
    source = """
        double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);
        static double seven(double x) { return 7; }
        static double seven_forward(double x, double dx) { return 100 * x * dx; }
        void *__enzyme_register_derivative_seven[] = {(void *)seven, (void *)seven_forward};
        static double f(double x) { return seven(x) * x; }
        static double tangent(double x) { return __enzyme_fwddiff((void *)f, x, 1.0); }
        int main(void) { return __enzyme_fwddiff((void *)tangent, 0.5, 1.0) == 100 * 0.5 + 200 * 0.5 ? 0 : 1; }
    """
    path.write_text(source)
    assert subprocess.run([built(path, tmp_path, *FLAGS[level], level=level)], check=False).returncode == 0
    path.write_text(source.replace("__enzyme_fwddiff((void *)tangent, 0.5, 1.0)", "__enzyme_autodiff(tangent, 0.5)"))
    with pytest.raises(LlgradError, match="seven has a registered derivative, but no registered gradient"):
        built(path, tmp_path, *FLAGS[level], level=level)


REFUSED = [
    ("void *__enzyme_registre_gradient_f[] = {(void *)f};", "no registration that llgrad knows"),
    ("void *__enzyme_register_gradient_f[] = {(void *)f, (void *)f};", "augmented, reverse"),
    ("void *__enzyme_register_derivative_f[] = {(void *)f, (void *)g};", "no registered gradient"),
    ("void *__enzyme_function_like[] = {(void *)f, (void *)\"expp\"};", "expp, which has no rule"),
    ("void *__enzyme_function_like[] = {(void *)f, (void *)\"atan2\"};", "declared to be like atan2, but its param"),
    ("void *__enzyme_function_like[] = {(void *)f, (void *)\"ldexp\"};", "ldexp takes float, int, f takes float"),
    ("double two(double x, double y) { return x; }"
     "void *__enzyme_register_gradient_f[] = {(void *)f, (void *)f, (void *)f};", "returns no adjoints|values after"),
    ("void *a(double *x, double *dx) { return 0; } void r(double *x, double *dx, double s, void *t) { *dx += s; }"
     "double h(double *x) { return *x; }"
     "void *__enzyme_register_gradient_h[] = {(void *)h, (void *)a, (void *)r};", "shadow of argument"),
    # as large as {void *, double}, and as two floats:
    ("typedef struct { void *tape; float value; } kept; kept a(double x) { kept k = {0, x * x}; return k; }"
     "double r(double x, double s, void *t) { return 2 * x * s; }"
     "void *__enzyme_register_gradient_f[] = {(void *)f, (void *)a, (void *)r};", "a returns { ptr, float }"),
    ("typedef struct { float a, b; } two; void *a(double x) { return 0; }"
     "two r(double x, double s, void *t) { two d = {2 * x * s, 0}; return d; }"
     "void *__enzyme_register_gradient_f[] = {(void *)f, (void *)a, (void *)r};", "r returns <2 x float>, not { dou"),
]  # fmt: skip


@pytest.mark.parametrize(("registration", "words"), REFUSED, ids=lambda x: x[:40])
def test_registrations_that_are_refused(registration: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.c"
    path.write_text(f"""
        double __enzyme_autodiff(void *, ...);
        double f(double x) {{ return x * x; }}
        double g(double x, double dx) {{ return 2 * x * dx; }}
        {registration}
        double root(double x, double *p) {{
            double y[1] = {{x}};
            return f(x) {'+ h(y) * h(p)' if 'double h' in registration else ''};
        }}
        extern int enzyme_const;
        double caller(double x, double *p) {{ return __enzyme_autodiff((void *)root, x, enzyme_const, p); }}
    """)
    with pytest.raises(LlgradError, match=words) as caught:
        optimise_program(LLVMModule.read(compile_sources([path]).modules[0]))
    assert caught.value.span is not None and caught.value.span.line > 0


def test_markers_that_are_metadata() -> None:
    text = """
        define double @f(double %x, double %y) {
          %r = fmul double %x, %y
          ret double %r
        }
        declare double @__enzyme_autodiff(ptr, ...)
        define double @slope(double %x) {
          %r = call double (ptr, ...) @__enzyme_autodiff(ptr @f, metadata !"enzyme_out", double %x,
                                                         metadata !"enzyme_const", double 3.0)
          ret double %r
        }
    """.replace(",\n", ",").encode()
    made = optimise_program(LLVMModule.linked([read_ir(text)])).text()
    assert re.search(r"define \w*\s?double @slope\([^{]*\{\s*ret double 3\.0", made)


def test_structs_of_floats_and_pointers_are_not_passed_on_for_ever() -> None:
    text = """
        %mixed = type { ptr, double }
        define internal double @use(%mixed %t, i32 %n) {
          %p = extractvalue %mixed %t, 0
          %x = extractvalue %mixed %t, 1
          %v = load double, ptr %p
          %r = fmul double %v, %x
          %last = icmp eq i32 %n, 0
          br i1 %last, label %end, label %more
        end:
          ret double %r
        more:
          %m = sub i32 %n, 1
          %u = insertvalue %mixed %t, double %r, 1
          %q = call double @use(%mixed %u, i32 %m)
          %w = fmul double %q, %x
          ret double %w
        }
        define double @f(ptr %p, double %x) {
          %a = insertvalue %mixed poison, ptr %p, 0
          %c = insertvalue %mixed %a, double %x, 1
          %r = call double @use(%mixed %c, i32 2)
          ret double %r
        }
        declare double @__enzyme_autodiff(ptr, ...)
        define double @slope(ptr %p, ptr %d, double %x) {
          %r = call double (ptr, ...) @__enzyme_autodiff(ptr @f, ptr %p, ptr %d, double %x)
          ret double %r
        }
    """
    with pytest.raises(LlgradError, match="use is passed active floats and pointers in one struct"):
        optimise_program(LLVMModule.from_text(text))


def test_metadata_of_globals_keeps_them_and_their_shadows(tmp_path: Path) -> None:
    """Nothing in the program writes the variable, and nothing but the derivative its shadow."""
    path = tmp_path / "globals.ll"
    path.write_text("""
        @g = internal global double 3.0, !enzyme_shadow !0
        @dg = internal global double 0.0
        @c = internal global double 2.0, !enzyme_inactive !1
        !0 = !{ptr @dg}
        !1 = !{}
        define double @f(double %x) {
          %v = load double, ptr @g
          %m = fmul double %v, %x
          store double %x, ptr @c
          %w = load double, ptr @c
          %r = fmul double %m, %w
          ret double %r
        }
        declare double @__enzyme_autodiff(ptr, ...)
        define i32 @main() {
          %d = call double (ptr, ...) @__enzyme_autodiff(ptr @f, double 5.0)
          %s = load double, ptr @dg
          %p = fcmp oeq double %d, 15.0
          %q = fcmp oeq double %s, 25.0
          %r = select i1 %p, i1 %q, i1 false
          %status = select i1 %r, i32 0, i32 1
          ret i32 %status
        }
    """)
    subprocess.run([built(path, tmp_path)], check=True)


def test_registrations_that_nothing_names_count(tmp_path: Path) -> None:
    """A static one is no variable of the program's that LLVM may drop."""
    path = tmp_path / "static.ll"
    path.write_text("""
        @__enzyme_inactivefn_square = internal global ptr @square
        @__enzyme_function_like_flat = internal constant { ptr, ptr } { ptr @flat, ptr @name }
        @__enzyme_register_derivative_own = private unnamed_addr constant [2 x ptr] [ptr @own, ptr @own_tangent]
        @name = private constant [4 x i8] c"exp\\00"
        declare double @llvm.exp.f64(double)
        declare double @__enzyme_fwddiff(ptr, ...)
        define double @square(double %x) {
          %r = fmul double %x, %x
          ret double %r
        }
        define double @flat(double %x) {
          ret double 2.0
        }
        define double @own(double %x) {
          ret double 3.0
        }
        define double @own_tangent(double %x, double %t) {
          %r = fmul double %t, 7.0
          ret double %r
        }
        define double @f(double %x) {
          %s = call double @square(double %x)
          %l = call double @flat(double %x)
          %o = call double @own(double %x)
          %m = fadd double %s, %l
          %r = fadd double %m, %o
          ret double %r
        }
        define i32 @main() {
          %d = call double (ptr, ...) @__enzyme_fwddiff(ptr @f, double 0.0, double 1.0)
          %p = fcmp oeq double %d, 9.0
          %status = select i1 %p, i32 0, i32 1
          ret i32 %status
        }
    """)
    subprocess.run([built(path, tmp_path)], check=True)


@pytest.mark.parametrize("said", ["", '"enzyme_type"="{[-1]:Pointer, [-1,0]:Float@double}"'])
def test_attributes_say_what_memory_holds(said: str) -> None:
    text = f"""
        define void @f(ptr {said} %x, ptr %y) {{
          call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 8, i1 false)
          ret void
        }}
        declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
        declare void @__enzyme_autodiff(ptr, ...)
        define void @df(ptr %x, ptr %d, ptr %y, ptr %e) {{
          call void (ptr, ...) @__enzyme_autodiff(ptr @f, ptr %x, ptr %d, ptr %y, ptr %e)
          ret void
        }}
    """
    program = LLVMModule.from_text(text)
    if said:
        assert "fadd" in optimise_program(program).text()
        return
    with pytest.raises(LlgradError, match="unknown kind"):
        optimise_program(program)


@pytest.mark.parametrize(
    ("result", "markers", "words"),
    [
        ("two", "enzyme_dup, 3.0f, 1.0f", "expects { double, double }, the derivative returns float"),
        ("two", "enzyme_primal_return, 3.0f, 1.0f", "expects { double, double }, the derivative returns float, float"),
        ("four", "enzyme_primal_return, enzyme_dup, 3.0f, 1.0f", "expects { double, double, double, double }"),
        ("twof", "enzyme_width, 3, enzyme_dup, 3.0f, 1.0f, 1.0f, 1.0f", "the derivative returns float, float, float"),
        ("float", "enzyme_dup, enzyme_const, 3.0f", "is to be enzyme_dup and enzyme_const"),
        ("float", "enzyme_const_return, enzyme_dup_return, 3.0f, 1.0f", "contradict each other"),
    ],
)  # fmt: skip
def test_results_and_markers_that_do_not_fit(result: str, markers: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.c"
    path.write_text(f"""
        typedef struct {{ double a, b; }} two;
        typedef struct {{ double a, b, c, d; }} four;
        typedef struct {{ float a, b; }} twof;
        extern int enzyme_dup, enzyme_const, enzyme_width, enzyme_primal_return, enzyme_const_return, enzyme_dup_return;
        {result} __enzyme_fwddiff(void *, ...);
        static float f(float x) {{ return x * x; }}
        {result} slope(void) {{ return __enzyme_fwddiff((void *)f, {markers}); }}
        int main(void) {{ return 0; }}
    """)
    with pytest.raises(LlgradError, match=re.escape(words)):
        built(path, tmp_path, *FLAGS[2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("@__enzyme_fwdsplit(ptr @f, double 1.0, double 1.0)", "__enzyme_fwdsplit is called without a tape"),
        ("@__enzyme_fwdsplit(ptr @f, double 1.0, ptr %t)", "__enzyme_fwdsplit is called without the shadow"),
        ("@__enzyme_autodiff(ptr @g, double 1.0)", "^g calls setjmp"),
    ],
)
def test_errors_speak_of_the_users_names(call: str, words: str) -> None:
    name = call.split("(")[0]
    text = f"""
        declare i32 @setjmp(ptr) returns_twice
        define double @f(double %x) {{
          %y = fmul double %x, %x
          ret double %y
        }}
        define double @g(double %x) {{
          %place = alloca [25 x i64]
          %again = call i32 @setjmp(ptr %place) returns_twice
          %y = call double @f(double %x)
          ret double %y
        }}
        declare double {name}(...)
        define double @slope(ptr %t) {{
          %r = call double (...) {call}
          ret double %r
        }}
    """
    with pytest.raises(LlgradError, match=words) as refused:
        optimise_program(LLVMModule.linked([read_ir(text.encode())]))
    assert "llgrad." not in str(refused.value)


@pytest.mark.parametrize("word", ["enzyme_nocache", "enzyme_ta_norecur", "enzyme_ReadOnlyOrThrow", "enzyme_math=exp"])
def test_attributes_of_functions_in_ir(word: str, tmp_path: Path) -> None:
    """Advice changes nothing; `enzyme_math` is `enzyme_function_like`: the rule of exp takes the value of f."""
    name, _, like = word.partition("=")
    path = tmp_path / "code.ll"
    path.write_text(f"""
        define double @f(double %x) noinline "{name}"="{like}" {{
          %r = fmul double %x, %x
          ret double %r
        }}
        declare double @__enzyme_autodiff(ptr, ...)
        define double @root(double %x) {{
          %r = call double @f(double %x)
          ret double %r
        }}
        define i32 @main() {{
          %d = call double (ptr, ...) @__enzyme_autodiff(ptr @root, double 3.0)
          %p = fcmp oeq double %d, {"9.0" if like else "6.0"}
          %status = select i1 %p, i32 0, i32 1
          ret i32 %status
        }}
    """)
    subprocess.run([built(path, tmp_path)], check=True)


def test_an_attribute_that_nobody_knows() -> None:
    text = """
        define double @f(double %x) "enzyme_preserve_primal"="*" {
          ret double %x
        }
        declare double @__enzyme_autodiff(ptr, ...)
        define double @df(double %x) {
          %d = call double (ptr, ...) @__enzyme_autodiff(ptr @f, double %x)
          ret double %d
        }
    """
    with pytest.raises(LlgradError, match="attribute enzyme_preserve_primal of f is not supported"):
        optimise_program(LLVMModule.from_text(text))
