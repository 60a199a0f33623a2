"""OpenMP in what is differentiated: one thread, whatever the program does elsewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.drivers import drive
from llgrad.errors import NoRuleError
from llgrad.frontends import compile_sources
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.llvm.libraries import Libraries
from llgrad.transforms.canonical.atomics import private
from llgrad.transforms.canonical.lowering import LOWER
from llgrad.transforms.canonical.openmp import INSIDE
from llgrad.transforms.contexts import Lowering
from llgrad.transforms.pass_manager import Unit, run_passes

HAS_LIBRARY = Libraries().address("__kmpc_fork_call") != 0
needs_library = pytest.mark.skipif(not HAS_LIBRARY, reason="LLVM's run-time library of OpenMP is not installed")


def lowered(text: str, *keep: str) -> str:
    return run_passes(Unit(LLVMModule.from_text(text)), LOWER, Lowering(list(keep))).text()


def from_c(folder: Path, source: str) -> str:
    path = folder / "f.c"
    path.write_text(source)
    module = LLVMModule.read(compile_sources([path], ["-fopenmp", "-g0"]).modules[0])
    module.internalize(["f"])
    return run_passes(Unit(module), LOWER, Lowering(["f"])).text()


def body(text: str, name: str) -> str:
    found = re.search(rf"^define [^@\n]*@{re.escape(name)}\(", text, re.MULTILINE)
    assert found is not None
    return text[found.start() :].partition("\n}")[0]


ENERGY = """
#include <math.h>
void energy(int n, const double *x, double k, double *out)
{
    double sum = 0.0;
#pragma omp parallel for reduction(+ : sum) schedule(SCHEDULE)
    for (int i = 0; i < n - 1; i++)
        sum += 0.5 * k * (x[i + 1] - x[i]) * (x[i + 1] - x[i]) + cos(x[i]);
    *out = sum;
}
"""


@pytest.mark.parametrize(
    ("schedule", "branches"), [("static", 2), ("static, 3", 3), ("dynamic", 2), ("guided, 4", 2), ("runtime", 2)]
)
def test_a_parallel_loop_is_a_loop(schedule: str, branches: int, tmp_path: Path) -> None:
    """What dispatches runs once, so that it is no loop of its own: the derivative is as fast as without OpenMP.

    (LLVM does not see that for static chunks.)
    """
    from llgrad.programs.stages import prepare, program

    path = tmp_path / "energy.c"
    path.write_text(ENERGY.replace("SCHEDULE", schedule))
    text = prepare(program(compile_sources([path], ["-fopenmp", "-g0"]).modules), ["energy"])
    assert "@__kmpc" not in text and "omp_outlined(" not in text
    assert len([line for line in body(text, "energy").split("\n") if line.lstrip().startswith("br i1")]) == branches


@needs_library
def test_from_python(tmp_path: Path) -> None:
    path = tmp_path / "energy.c"
    path.write_text(ENERGY.replace("SCHEDULE", "static"))
    lib = llgrad.load(path, flags=["-fopenmp"])
    x, k, out = np.linspace(0.0, 2.0, 50), 1.5, np.zeros(1)
    lib.energy(50, x, k, out)
    steps = np.diff(x)
    value = 0.5 * k * np.sum(steps**2) + np.sum(np.cos(x[:-1]))
    assert out[0] == pytest.approx(value)
    found, (dx, dk) = llgrad.value_and_grad(lib.energy, wrt=("x", "k"), of="out")(50, x, k, out)
    wanted = np.zeros(50)
    wanted[1:] += k * steps
    wanted[:-1] -= k * steps + np.sin(x[:-1])
    assert found == pytest.approx(value) and dk == pytest.approx(0.5 * np.sum(steps**2))
    np.testing.assert_allclose(dx, wanted)
    v = np.cos(np.arange(50.0))
    _, tangent = llgrad.jvp(lib.energy, wrt="x", of="out")(50, x, k, out, tangents=v)
    assert tangent == pytest.approx(wanted @ v)
    hessian = llgrad.hessian(lib.energy, wrt="x", of="out")(50, x, k, out)
    bands = np.diag(np.r_[k, np.full(48, 2 * k), k] - np.r_[np.cos(x[:-1]), 0])
    bands -= np.diag(np.full(49, k), 1) + np.diag(np.full(49, k), -1)
    np.testing.assert_allclose(hessian, bands, atol=1e-12)


def test_code_in_regions_and_outside_is_told_apart(tmp_path: Path) -> None:
    text = from_c(tmp_path, """
int omp_get_thread_num(void);
__attribute__((noinline)) static int helper(int n) { return n > 0 ? helper(n - 1) : omp_get_thread_num(); }
int f(int n)
{
    int in = 0;
#pragma omp parallel
    in = helper(n);
    return 10 * in + helper(n);
}
""")  # fmt: skip
    assert "@omp_get_thread_num" in body(text, "helper") and "@omp_get_thread_num" not in body(text, f"{INSIDE}helper")
    assert f"@{INSIDE}helper(" in body(text, "f") and "@helper(" in body(text, "f")


LOOP = """
declare void @__kmpc_fork_call(ptr, i32, ptr, ...)
define void @f(ptr %p) {{
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @region, ptr %p)
  ret void
}}
define internal void @region(ptr %a, ptr %b, ptr %p) {{
entry:
  {before}%old = load atomic i64, ptr %p monotonic, align 8
  {after}br label %loop
loop:
  %met = phi i64 [ %old, %entry ], [ %now, %loop ]
  %x = bitcast i64 %met to double
  %y = fmul double %x, 3.0
  %new = bitcast double %y to i64
  {between}%pair = cmpxchg ptr %p, i64 %met, i64 %new monotonic monotonic, align 8
  %now = extractvalue {{ i64, i1 }} %pair, 0
  %done = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %done, label %end, label %loop
end:
  ret void
}}
"""
ELSEWHERE = "store i64 1, ptr %p\n  "


@pytest.mark.parametrize(
    ("where", "once"), [({}, True), ({"before": ELSEWHERE}, True), ({"after": ELSEWHERE}, False),
                        ({"between": ELSEWHERE}, False)],
)  # fmt: skip
def test_an_exchange_that_may_fail_stays_a_loop(where: dict[str, str], once: bool) -> None:
    places = {"before": "", "after": "", "between": ""}
    text = body(lowered(LOOP.format(**{**places, **where}), "f"), "f")
    assert "cmpxchg" not in text and "atomic" not in text.replace("llgrad.openmp.atomic", "")
    assert ("br i1" not in text) == once


def test_counters_stay_atomic() -> None:
    text = body(lowered("""
declare void @__kmpc_fork_call(ptr, i32, ptr, ...)
define void @f(ptr %p, ptr %q) {
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 2, ptr @region, ptr %p, ptr %q)
  ret void
}
define internal void @region(ptr %a, ptr %b, ptr %p, ptr %q) {
  %n = atomicrmw add ptr %p, i32 1 monotonic, align 4
  %s = atomicrmw fsub ptr %q, double 2.0 seq_cst, align 8
  fence seq_cst
  ret void
}
""", "f"), "f")  # fmt: skip
    assert "atomicrmw add" in text and "fsub double" in text and "atomicrmw fsub" not in text and "fence" not in text


ORPHANED = """
extern int enzyme_dup, enzyme_const;
void __enzyme_autodiff(void *, ...);
static void f(const double *x, double *y, int n)
{
#pragma omp for
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
}
static void gradient(double *dx)
{
    double x[4] = {1, 2, 3, 4}, y[4], dy[4] = {1, 1, 1, 1};
    __enzyme_autodiff((void *)f, enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_const, 4);
}
int main(int argc, char **argv)
{
    double dx[4] = {0, 0, 0, 0};
    if (argc == 1)
        gradient(dx);
    else {
#pragma omp parallel num_threads(2)
        gradient(dx);
    }
    return !(dx[1] == 4 && dx[3] == 8);
}
"""


@needs_library
@pytest.mark.parametrize("level", [0, 2])
def test_work_that_a_team_of_the_callers_would_share(level: int, tmp_path: Path) -> None:
    """Alone, the one thread does all of it; each thread of a team would."""
    source, program = tmp_path / "orphaned.c", tmp_path / "program"
    source.write_text(ORPHANED)
    levels = ["-O0", "--level", "0"] if level == 0 else ["-O2"]
    assert drive([*levels, "-fopenmp", str(source), "-o", str(program)], cxx=False) == 0
    assert subprocess.run([program], check=False).returncode == 0
    done = subprocess.run([program, "team"], capture_output=True, text=True, check=False)
    assert done.returncode and "one thread of several" in done.stderr


def test_reductions_over_tasks_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text("""
double f(const double *x, int n)
{
    double s = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
""")
    with pytest.raises(NoRuleError, match="OpenMP's __kmpc_task"):
        llgrad.grad(llgrad.load(path, flags=["-fopenmp"]).f)(np.ones(3), 3)


def test_promises_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "f.cpp"
    path.write_text("""
#include <future>
extern "C" double f(double x) { return std::async(std::launch::async, [=] { return x * x; }).get(); }
""")
    with pytest.raises(NoRuleError, match=r"std::async"):
        llgrad.grad(llgrad.load(path).f)(1.0)


OWN = """
declare void @keep(ptr)
define double @f(double %x, ptr %p) {{
  %s = alloca double, align 8
  %t = alloca [2 x double], align 8
  store double 1.0, ptr %s, align 8
  {first}
  %a = atomicrmw fadd ptr {place}, double %x seq_cst, align 8
  %b = load atomic double, ptr %s seq_cst, align 8
  ret double %b
}}
"""


@pytest.mark.parametrize(
    ("first", "place", "own"),
    [
        ("", "%s", True), ("%m = getelementptr i8, ptr %t, i64 8", "%m", True), ("", "%p", False),
        ("call void @keep(ptr %s)", "%s", False), ("store ptr %s, ptr %p", "%s", False),
        ("%n = ptrtoint ptr %s to i64", "%s", False), ("%m = getelementptr i8, ptr %p, i64 8", "%m", False),
        ("%m = select i1 true, ptr %s, ptr %p", "%m", False),
        ("%i = fptosi double %x to i64\n  %m = getelementptr double, ptr %p, i64 %i", "%m", False),
        ("%i = fptosi double %x to i64\n  %m = getelementptr double, ptr %t, i64 %i", "%m", True),
    ],
)  # fmt: skip
def test_atomic_operations_of_ones_own(first: str, place: str, own: bool) -> None:
    module = parse(OWN.format(first=first, place=place))
    changed = private(module)
    text = write(module)
    assert ("atomicrmw" not in text) == own
    assert LLVMModule.from_text(text).text() and bool(changed) >= own
