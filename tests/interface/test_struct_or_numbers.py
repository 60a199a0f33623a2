"""Is it one struct or several numbers? Calls in code without names, debug info and what is not optimised."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import sanitizers
from click.testing import CliRunner

from llgrad.cli import main
from llgrad.frontends import find_compiler

FORWARD = """
target triple = "x86_64-unknown-linux-gnu"
declare double @__enzyme_fwddiff(ptr, ...)
declare i32 @printf(ptr, ...)
@enzyme_dup = external global i32
@format = private constant [5 x i8] c"%.9g\\00"
define internal noundef double @f(double PARAMETERS) noinline {
  %u = fmul double %X, %X
  %v = fmul double %u, %Y
  ret double %v
}
define i32 @main() {
  %dup = load i32, ptr @enzyme_dup
  %r = call double (ptr, ...) @__enzyme_fwddiff(ptr @f, ARGUMENTS)
  %p = call i32 (ptr, ...) @printf(ptr @format, double %r)
  ret i32 0
}
"""
MARKED_ONCE = "i32 %dup, double 2.0, double 10.0, double 3.0, double 1.0"
MARKED = "i32 %dup, double 2.0, double 10.0, i32 %dup, double 3.0, double 1.0"
BARE = "double 2.0, double 10.0, double 3.0, double 1.0"
REVERSE = """
target triple = "x86_64-unknown-linux-gnu"
declare { TYPES } @__enzyme_autodiff(ptr, ...)
declare i32 @printf(ptr, ...)
@enzyme_out = external global i32
@enzyme_width = external global i32
@format = private constant [10 x i8] c"%.9g %.9g\\00"
define internal double @f(double PARAMETERS) noinline {
  %u = fmul double %X, %X
  ret double %u
}
define i32 @main() {
  %out = load i32, ptr @enzyme_out
  %width = load i32, ptr @enzyme_width
  %r = call { TYPES } (ptr, ...) @__enzyme_autodiff(ptr @f, i32 %width, i32 2, i32 %out, double 3.0, i64 5)
  %a = extractvalue { TYPES } %r, 0
  %b = extractvalue { TYPES } %r, 1
  %p = call i32 (ptr, ...) @printf(ptr @format, double %a, double %b)
  ret i32 0
}
"""


def printed(folder: Path, text: str) -> str:
    before, after = folder / "f.ll", folder / "f.derived.ll"
    before.write_text(text)
    done = CliRunner().invoke(main, ["opt", str(before), "-o", str(after)], catch_exceptions=False)
    if done.exit_code:
        return str(done.stderr)
    sanitizers.link(after, folder / "f", "address", cxx=False)
    return subprocess.run([folder / "f"], capture_output=True, text=True, timeout=60, check=True).stdout


def parameters(text: str, named: bool, second: str = "double") -> str:
    x, y = ("x", "y") if named else ("0", "1")
    filled = text.replace("PARAMETERS", f"%{x}, {second} %{y}").replace("%X", f"%{x}").replace("%Y", f"%{y}")
    return filled if named else filled.replace("noinline {", "noinline {\nentry:")


@pytest.mark.parametrize(("named", "arguments", "told"), [
    (True, MARKED_ONCE, "124"), (False, MARKED, "124"), (False, BARE, "124"),
    (False, MARKED_ONCE, "arguments 0 and 1 of f may be one struct in registers, or two numbers"),
])  # fmt: skip
def test_tangents(named: bool, arguments: str, told: str, tmp_path: Path) -> None:
    """Of a struct, all values come first, then its shadow: `2, 3` for `2, 10`."""
    assert told in printed(tmp_path, parameters(FORWARD, named).replace("ARGUMENTS", arguments))


@pytest.mark.parametrize("found", ["noundef double @f(double noundef PAR", "double @f(double PAR"])
def test_numbers_are_not_undefined(found: str, tmp_path: Path) -> None:
    """clang says so of numbers, and not of what it cuts structs into; other compilers say nothing of either."""
    text = FORWARD.replace("noundef double @f(double PAR", found).replace("ARGUMENTS", MARKED_ONCE)
    assert "124" in printed(tmp_path, parameters(text, named=False))


@pytest.mark.parametrize(("types", "told"), [
    ("double, double", "6 6"), ("double, i64, double, i64", "does not fit the call"),
])  # fmt: skip
def test_adjoints_of_lanes(types: str, told: str, tmp_path: Path) -> None:
    """Of a number beside an integer, two; of a struct of both, the second one is where no adjoint was."""
    text = parameters(REVERSE, named=False, second="i64").replace("TYPES", types)
    if "i64" in types:
        text = text.replace("%r, 1\n", "%r, 2\n")
    assert told in printed(tmp_path, text)


PIECES = FORWARD.replace("define internal noundef double @f(double PARAMETERS) noinline {", """
define internal double @f(double %0, double %1) noinline !dbg !1 {
entry:
  RECORDS""") + """
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!10}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, producer: "zig 0.17.1", emissionKind: FullDebug)
!1 = distinct !DISubprogram(name: "f", scope: !2, file: !2, line: 3, type: !3, spFlags: DISPFlagDefinition, unit: !0)
!2 = !DIFile(filename: "lib.zig", directory: "/")
!3 = !DISubroutineType(types: !4)
!4 = !{!5, !6}
!5 = !DIBasicType(name: "f64", size: 64, encoding: DW_ATE_float)
!6 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "*const G", baseType: !5, size: 64, align: 64)
!7 = !DILocalVariable(name: "s", arg: 1, scope: !1, file: !2, line: 3, type: !11)
!8 = !DILocation(line: 0, scope: !1)
!9 = !DILocalVariable(name: "t", arg: 2, scope: !1, file: !2, line: 3, type: !5)
!10 = !{i32 2, !"Debug Info Version", i32 3}
!11 = !DICompositeType(tag: DW_TAG_structure_type, name: "G", file: !2, size: SIZE, align: 64, elements: !{})
"""
PIECE = "#dbg_value(double %{0}, !7, !DIExpression(DW_OP_LLVM_fragment, {1}, 64), !8)"
NUMBERS = "#dbg_value(double %0, !7, !DIExpression(), !8)\n #dbg_value(double %1, !9, !DIExpression(), !8)"


@pytest.mark.parametrize(("records", "told"), [
    (f"{PIECE.format(0, 0)}\n  {PIECE.format(1, 64)}", "125.5"), (NUMBERS, "129.5"),
    ("", "arguments 0 and 1 of f may be one struct in registers, or two numbers"),
])  # fmt: skip
def test_pieces_of_variables(records: str, told: str, tmp_path: Path) -> None:
    """Zig's debug info calls a struct a pointer, and says of no parameter `noundef`."""
    text = PIECES.replace("SIZE", "64" if records == NUMBERS else "128").replace("RECORDS", records)
    text = text.replace("%X", "%0").replace("%Y", "%1")
    marked = "i32 %dup, double 2.0, double 11.0, double 3.0, double -0.25"
    further = "\n  %yy = fmul double %1, %1\n  %w = fadd double %v, %yy"
    text = text.replace("fmul double %u, %1", f"fmul double %u, %1{further}")
    assert told in printed(tmp_path, text.replace("ret double %v", "ret double %w").replace("ARGUMENTS", marked))


# Structs with pointers in code that clang has optimised, without names: what the call passes tells which they are.
POINTERS = """
#include <stdio.h>
typedef struct { double *p; int n; } sized;
typedef struct { long n; double *p; } counted;
typedef struct { double *p; double scale; } scaled;
#define APART __attribute__((noinline))
APART double dot(sized a, sized b) { double s = 0; for (int i = 0; i < a.n; i++) s += a.p[i] * b.p[i]; return s; }
APART double sum(counted a, double k) { double s = 0; for (long i = 0; i < a.n; i++) s += k * a.p[i]; return s; }
APART double weighted(const double *x, sized w) { return x[0] * w.p[0] + x[1] * w.p[1]; }
APART double times(scaled a) { return a.scale * a.p[0] * a.p[1]; }
APART double all(sized a, sized b, sized c, sized d) { return a.p[0] * b.p[1] * c.p[0] * d.p[1]; }
extern int enzyme_dup, enzyme_const, enzyme_out, enzyme_width;
double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);
void __enzyme_autodiff_void(void *, ...);
int main(void) {
    double x[2] = {1, 2}, y[2] = {3, 4}, dx[2] = {0}, dy[2] = {0}, ex[2] = {0}, ey[2] = {0};
    sized a = {x, 2}, b = {y, 2}, da = {dx, 2}, db = {dy, 2}, ea = {ex, 2}, eb = {ey, 2};
    counted c = {2, x}, dc = {2, dx};
    scaled s = {x, 5}, ds = {dx, 1};
    __enzyme_autodiff((void *)dot, enzyme_dup, a, da, enzyme_dup, b, db);
    printf("%g %g %g %g\\n", dx[0], dx[1], dy[0], dy[1]);
    __enzyme_autodiff((void *)dot, a, da, b, db);
    printf("%g %g %g %g\\n", dx[0], dx[1], dy[0], dy[1]);
    printf("%g\\n", __enzyme_fwddiff((void *)dot, enzyme_const, a, enzyme_dup, b, db));
    double k = __enzyme_autodiff((void *)sum, enzyme_dup, c, dc, enzyme_out, 10.0);
    printf("%g %g %g\\n", k, dx[0], dx[1]);
    __enzyme_autodiff((void *)weighted, enzyme_dup, x, dx, enzyme_dup, b, db);
    printf("%g %g %g %g\\n", dx[0], dx[1], dy[0], dy[1]);
    dx[0] = 1, dx[1] = 0;
    printf("%g\\n", __enzyme_fwddiff((void *)times, enzyme_dup, s, ds));
    __enzyme_autodiff_void((void *)dot, enzyme_width, 2, enzyme_dup, a, da, ea, enzyme_dup, b, db, eb);
    printf("%g %g\\n", ex[0], ey[1]);
    __enzyme_autodiff((void *)all, enzyme_dup, a, ea, enzyme_const, b, enzyme_dup, a, ea, enzyme_dup, b, eb);
    printf("%g %g\\n", ex[0], ey[1]);
}
"""


def optimised(source: str, tmp_path: Path) -> str:
    path, ir = tmp_path / "code.c", tmp_path / "code.ll"
    path.write_text(source)
    compiler = find_compiler()
    words = [*compiler.c, *compiler.flags, "-O2", "-w", "-S", "-emit-llvm", str(path), "-o", str(ir)]
    subprocess.run(words, check=True)
    return ir.read_text()


def test_structs_with_pointers(tmp_path: Path) -> None:
    lines = printed(tmp_path, optimised(POINTERS, tmp_path)).splitlines()
    assert lines[:3] == ["3 4 1 2", "6 8 2 4", "10"]
    assert lines[3:5] == ["3 16 18", "19 22 3 6"]
    assert lines[5] == "12"  # dx[0] y[1] s + x[0] x[1] ds
    assert lines[6:] == ["3 2", "35 6"]


TWO = """
typedef struct { double *p, *q; } two;
__attribute__((noinline)) RESULT dot(two a) { double s = 0; for (int i = 0; i < 2; i++) s += a.p[i] * a.q[i]; RETURN; }
extern int enzyme_dup;
double __enzyme_autodiff(void *, ...);
void gradient(two a, two da) { __enzyme_autodiff((void *)dot, MARKER a, da); }
"""


@pytest.mark.parametrize("result", ["double", "void"])
@pytest.mark.parametrize("marker", ["enzyme_dup,", ""])
def test_structs_that_may_be_two_pointers(marker: str, result: str, tmp_path: Path) -> None:
    """`p q dp dq` of a struct, or two pointers with their shadows: nobody can tell."""
    source = TWO.replace("MARKER", marker).replace("RESULT", result)
    source = source.replace("RETURN", "return s" if result == "double" else "a.p[0] = s")
    said = printed(tmp_path, optimised(source, tmp_path))
    assert "may be one struct in registers, or two" in said and "compile with -g" in said


REFUSED = """
extern int enzyme_dup, enzyme_const;
void __enzyme_autodiff(void *, ...);
double __enzyme_autodiff_number(void *, ...);
double sink;
typedef struct { double *p; double scale; } scaled;
double f(int n, scaled v) { double s = 0; for (int i = 0; i < n; i++) s += v.p[i] * v.p[i]; return s; }
void ask(int n, scaled v, scaled d) {
  CALL;
}
"""


@pytest.mark.parametrize("call", [
    "__enzyme_autodiff((void *)f, enzyme_const, n, enzyme_dup, v, d)",
    "__enzyme_autodiff((void *)f, enzyme_const, n, enzyme_const, v, enzyme_dup)",
    "sink = __enzyme_autodiff_number((void *)f, enzyme_const, n, enzyme_const, v)",
])  # fmt: skip
def test_refusals_name_places_and_cures(call: str, tmp_path: Path) -> None:
    """With -g the line and the source's names; without it the function that asks, and that -g may cure it."""
    source, ir = tmp_path / "scaled.c", tmp_path / "scaled.ll"
    source.write_text(REFUSED.replace("CALL", call))
    for debug in ("-g", "-g0"):
        flags = [debug, "-O2", "-fdiscard-value-names", "-S", "-emit-llvm"]
        subprocess.run([*find_compiler().c, *flags, source, "-o", ir], check=True)
        said = CliRunner().invoke(main, ["opt", str(ir), "-o", str(tmp_path / "out.ll")]).output
        assert "error" in said or "[unsupported]" in said
        if debug == "-g":
            assert "scaled.c:9:" in said and "argument 1" not in said and "argument 2" not in said
            assert "compile with -g" not in said
        else:
            assert "scaled.ll: " in said and " in ask\n" in said
            assert "compile with -g" in said
