"""Programs of several languages: each calls functions of another, which call back by name and by pointer.

`records.*` pass arrays and pointers to structs; `handles.*` structs by value, objects whose members only their language
knows, and functions; `registers.*` structs by value of which several members lie in one register. In each file `ME` is
the file's own prefix, `OTHER` that of the language it calls.
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


STRUCTS = {"FF": "ff", "FD": "fd", "FFI": "ffi"}
BYVALUE = ("c", "rs", "zig", "d", "cpp", "nim")


def _passed(members: str, a: complex, b: complex) -> complex:
    """What `run` of `registers.*` computes; members that are integers count up from their place."""
    values = [k + 2 if t == "i" else a * (k + 1) + b * b for k, t in enumerate(members)]
    values = [v + 1 if t == "i" else v * b + v * v for v, t in zip(values, members, strict=True)]
    total = complex(np.prod(values))
    for k, (v, t) in enumerate(zip(values, members, strict=True)):
        total += v * a * a if t == "i" else v * v * a * (k + 1)
    return total * a


@pytest.mark.parametrize(
    "pair", [("c", "rs"), *(pytest.param(p, marks=pytest.mark.full) for p in itertools.combinations(BYVALUE, 2))],
    ids="-".join,
)  # fmt: skip
def test_members_share_registers(pair: tuple[str, str], tmp_path: Path) -> None:
    """Each compiler has types of its own for a register with two floats, or with a float and an integer."""
    require(*(f"a.{end}" for end in pair))
    paths = [tmp_path / f"{me}_calls.{me}" for me in pair]
    for path, me, other in zip(paths, pair, pair[::-1], strict=True):
        source = (HERE / f"registers.{me}").read_text()
        path.write_text(source.replace("ME_", f"of_{me}_").replace("OTHER_", f"of_{other}_"))
    lib, h = llgrad.load(paths), 1e-30
    for me, (struct, members) in itertools.product(pair, STRUCTS.items()):
        f = lib[f"of_{me}_run_{struct}"]
        assert f(0.7, 0.3) == pytest.approx(_passed(members, 0.7, 0.3).real, rel=1e-5)
        truth = [_passed(members, 0.7 + h * 1j, 0.3).imag / h, _passed(members, 0.7, 0.3 + h * 1j).imag / h]
        np.testing.assert_allclose(llgrad.grad(f)(0.7, 0.3), truth, rtol=1e-5)
        assert llgrad.jvp(f)(0.7, 0.3, tangents=(1.0, 2.0))[1] == pytest.approx(truth[0] + 2 * truth[1], rel=1e-5)


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
