"""Programs of several languages: each calls functions of another, which call back by name and by pointer.

`records.*` pass arrays and pointers to structs; `handles.*` structs by value, objects whose members only their language
knows, and functions. In each file `ME` is the file's own prefix, `OTHER` that of the language it calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import differences

import llgrad
from llgrad.frontends.byvalue import members_apart

HERE = Path(__file__).parent / "mixed"
ENDS = ("c", "cpp", "rs", "f90", "zig", "d", "nim")
X = np.array([0.7, -0.4, 0.9, 0.3])


def _records(x: np.ndarray) -> float:
    k, total, y = x[0], x[1], np.zeros(len(x))
    for i, v in enumerate(x):
        y[i] = k * (v * v * k + total)
        total += y[i] * v
    return float(y @ y * len(x) + total)


def _handles(x: np.ndarray) -> float:
    a, b, c, d = x
    total, k = a * c * (b + c) + b * d * (c + d) * d * b, a
    for v in x:
        k += v
        total += k * a * a * v
    return float(total + d * d * a * (x @ x))


PROGRAMS = {"records": _records, "handles": _handles}


def _agree(program: str, calls: Sequence[tuple[str, str]], folder: Path) -> None:
    """Asserts value and gradient of each language's function; `calls`: pairs of languages, who calls whom."""
    require(*(f"a.{end}" for end, _ in calls))
    paths = [folder / f"{me}_calls.{me}" for me, _ in calls]
    for path, (me, other) in zip(paths, calls, strict=True):
        source = (HERE / f"{program}.{me}").read_text()
        path.write_text(source.replace("ME_", f"of_{me}_").replace("OTHER_", f"of_{other}_"))
    lib = llgrad.load(paths)
    truth = differences(lambda v: PROGRAMS[program](v[0]), [X])[0]
    for me, _ in calls:
        f = lib[f"of_{me}_run"]
        assert f(len(X), X) == pytest.approx(PROGRAMS[program](X), rel=1e-12)
        np.testing.assert_allclose(llgrad.grad(f, wrt=1)(len(X), X), truth, rtol=1e-8)


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_languages_in_one_program(program: str, tmp_path: Path) -> None:
    """Each calls the next, the last the first."""
    _agree(program, list(zip(ENDS, (*ENDS[1:], ENDS[0]), strict=True)), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("pair", list(itertools.combinations(ENDS, 2)), ids="-".join)
def test_pairs(pair: tuple[str, str], program: str, tmp_path: Path) -> None:
    _agree(program, [pair, pair[::-1]], tmp_path)


MLIR = """
func.func private @leaf(f64, f64) -> f64
func.func @f(%x: memref<?xf64>, %k: f64) -> f64 {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %first : memref<?xf64>
  %s = scf.for %i = %first to %n step %step iter_args(%a = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %w = func.call @leaf(%v, %k) : (f64, f64) -> f64
    %b = arith.addf %a, %w : f64
    scf.yield %b : f64
  }
  return %s : f64
}
func.func @square(%x: f64) -> f64 {
  %b = arith.mulf %x, %x : f64
  return %b : f64
}
"""


def test_mlir_and_c(tmp_path: Path) -> None:
    require("a.mlir", "a.c")
    (tmp_path / "a.mlir").write_text(MLIR)
    (tmp_path / "b.c").write_text(
        "double square(double);\ndouble leaf(double x, double k) { return square(x) * x * k; }\n"
        "double g(int n, double *x) { double s = 0; while (n--) s += leaf(x[n], square(x[0])); return s; }\n"
    )
    lib = llgrad.load([tmp_path / "a.mlir", tmp_path / "b.c"])
    np.testing.assert_allclose(llgrad.grad(lib.f, wrt=0)(X, 2.0), 6 * X**2)
    first = np.array([2 * X[0] * (X**3).sum(), 0, 0, 0])
    np.testing.assert_allclose(llgrad.grad(lib.g, wrt="x")(4, X), 3 * X**2 * X[0] ** 2 + first)


def test_structs_that_others_take_apart() -> None:
    """rustc passes a struct whole, clang its members; ldc's result has a name. Integers of 32 bits share registers."""
    text = (
        "%m.P = type { double, i8* }\n"
        "define dso_local %m.P @made(%m.P %a_arg, double %k) #0 {\n"
        "  %1 = call double @read({ double, i64 } zeroinitializer)\n  ret %m.P %a_arg\n}\n"
        "declare double @read({ double, i64 } noundef) #1\ndeclare { i32, i32 } @small({ i32, i32 })\n"
        "define %m.P @_D1mQP(%m.P %a) {\n  ret %m.P %a\n}\n"
    )
    made = members_apart(text)
    assert "define internal %m.P @made.whole(%m.P %a_arg, double %k) #0 {" in made
    assert "define { double, i8* } @made(double %m0.0, i8* %m0.1, double %p1) alwaysinline {" in made
    assert "declare double @read(double, i64)\n" in made and "call double @read.whole({ double, i64 } zero" in made
    assert "@small.whole" not in made and "@_D1mQP.whole" not in made
