"""Programs that call BLAS: the routines' rules against finite differences, in all modes, from C, Fortran and Python.

They need a library with both `cblas_dgemm` and `dgemm_` (Debian: libopenblas-dev or libblas-dev), which is also what
derivatives call.
"""

from __future__ import annotations

import ctypes.util
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from interpreter import Machine, tangent
from interpreter.floats import primal

import llgrad
from llgrad.drivers import drive
from llgrad.errors import ActivityError, CompilerError, NoRuleError
from llgrad.frontends import compile_sources, language_of
from llgrad.ir.parse import parse
from llgrad.programs import stages
from llgrad.rules import blas
from llgrad.transforms.canonical.blas_calls import bridged

SOURCES = Path(__file__).with_name("blas")
LIBRARY = next((name for name in ("openblas", "blas") if ctypes.util.find_library(name)), "")
needs_blas = pytest.mark.skipif(not LIBRARY, reason="BLAS: no libopenblas or libblas here")


def said(program: Path, *words: str) -> str:
    assert drive([*words, "-o", str(program), f"-l{LIBRARY}", "-lm"], cxx=False) == 0
    return subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=120).stdout


@needs_blas
@pytest.mark.parametrize("flags", [["-O1"], ["-O2", "-DFORTRAN", "-DT=float", "-DLETTER=s"]], ids=["cblas", "fortran"])
def test_routines(flags: list[str], tmp_path: Path) -> None:
    """All routines in all variants, row and column major, with increments of both signs."""
    assert said(tmp_path / "routines", *flags, str(SOURCES / "routines.c")) == "all right\n"


@needs_blas
@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_a_vector_onto_itself(flag: str, tmp_path: Path) -> None:
    assert said(tmp_path / "itself", flag, str(SOURCES / "itself.c")) == "all right\n"


@needs_blas
@pytest.mark.parametrize("name", blas.ROUTINES)
def test_interpreted(name: str, whole: tuple[llgrad.Library, str]) -> None:
    """The interpreter's routines, with dual numbers, against the library's and forward mode."""
    lib, text = whole
    rng = np.random.default_rng(2)
    v, u = rng.uniform(0.2, 1, 95), rng.normal(size=95)
    which = list(blas.ROUTINES).index(name)
    for variant in range(4):
        backwards = 1 if name in ("nrm2", "asum") else -1  # libraries differ about these
        bits, incx = (5 * variant + 3) % 16, (1, 2, backwards, 1)[variant]
        given = [which, bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3, variant % 2, incx, 1 + variant % 2]
        machine = Machine(parse(text))
        got = machine.run("program", [machine.put(v, u), *given])
        value, slope = llgrad.jvp(lib.program, wrt="v")(v, *given, tangents=u)
        np.testing.assert_allclose([primal(got), tangent(got)], [value, slope], rtol=1e-9)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[llgrad.Library, str]:
    """The program of all routines, and its prepared text."""
    path = tmp_path_factory.mktemp("blas") / "routines.c"
    path.write_text((SOURCES / "routines.c").read_text().partition("extern int enzyme_dup")[0])
    compiled = compile_sources([path]).modules
    return llgrad.load(path, libraries=[LIBRARY]), stages.prepare(stages.program(compiled), ["program"], 1)


@needs_blas
def test_ways(tmp_path: Path) -> None:
    """Lanes, split derivatives, constant memory, runtime activity and second derivatives of one function."""
    assert said(tmp_path / "ways", "-O1", str(SOURCES / "ways.c")) == "all right\n"


@needs_blas
def test_from_python(source: Callable[..., Path]) -> None:
    path = source("""
void cblas_dgemv(int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
double cblas_dnrm2(int, const double *, int);
double residual(const double *a, const double *x, const double *b, double *r, int m, int n) {
    for (int i = 0; i < m; i++) r[i] = -b[i];
    cblas_dgemv(101, 111, m, n, 1, a, n, x, 1, 1, r, 1);
    double size = cblas_dnrm2(m, r, 1);
    return size * size / 2;
}
""")
    lib = llgrad.load(path, libraries=[LIBRARY])
    rng = np.random.default_rng(0)
    a, x, b = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=4)
    value, (da, dx) = llgrad.value_and_grad(lib.residual, wrt=("a", "x"))(a, x, b, np.zeros(4), 4, 3)
    r = a @ x - b
    assert np.isclose(value, r @ r / 2)
    np.testing.assert_allclose(da, np.outer(r, x))
    np.testing.assert_allclose(dx, a.T @ r)


@needs_blas
def test_fortran(source: Callable[..., Path]) -> None:
    """flang passes lengths of characters at the end, and everything by address."""
    try:
        language_of(Path("a.f90")).identity()
    except CompilerError as error:
        pytest.skip(f"{error.message}: {error.cause} ({error.fix})")
    path = source(
        """
function objective(a, b, n) result(s)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: a(n, n), b(n, n)
  real(8) :: c(n, n), s
  real(8), external :: ddot
  call dgemm('N', 't', n, n, n, 2.0d0, a, n, b, n, 0.0d0, c, n)
  call dtrsm('L', 'U', 'N', 'N', n, n, 1.0d0, a, n, c, n)
  s = ddot(n * n, c, 1, c, 1)
end function
""",
        "objective.f90",
    )
    lib = llgrad.load(path, libraries=[LIBRARY])
    rng = np.random.default_rng(1)
    a, b = (np.asfortranarray(rng.normal(size=(3, 3)) + 2 * np.eye(3)) for _ in range(2))
    da, db = llgrad.grad(lib.objective, wrt=("a", "b"))(a, b, 3)
    for x, d in ((a, da), (b, db)):
        for i in np.ndindex(3, 3):
            kept, values = x[i], []
            for h in (1e-6, -1e-6):
                x[i] = kept + h
                values.append(lib.objective(a, b, 3))
            x[i] = kept
            assert np.isclose(d[i], (values[0] - values[1]) / 2e-6, rtol=1e-6, atol=1e-7)


def test_what_is_no_routine(source: Callable[..., Path]) -> None:
    """A routine without a rule, or one that is declared with another type, is refused by name."""
    path = source("""
void cblas_zherk(int, int, int, int, int, double, const double *, int, double, double *, int);
double cblas_ddot(const double *, const double *);
double square(const double *a, double *y) {
    cblas_zherk(101, 121, 111, 2, 2, 1, a, 2, 0, y, 2);
    return y[0];
}
double other(const double *x) { return cblas_ddot(x, x); }
""")
    lib = llgrad.load(path)
    for f in (lib.square, lib.other):
        with pytest.raises(NoRuleError, match="cblas_(zherk|ddot)"):
            llgrad.grad(f)


@needs_blas
def test_mixed(source: Callable[..., Path]) -> None:
    """A pointer to memory with a shadow or to memory without one is refused in both modes, unless asked for."""
    lib = llgrad.load(source("""
double cblas_ddot(int, const double *, int, const double *, int);
double f(const double *x, const double *table, int n, int which) {
    return cblas_ddot(n, which ? x : table, 1, x, 1);
}
"""), libraries=[LIBRARY])  # fmt: skip
    x, table = np.arange(3.0), np.arange(3.0, 6.0)
    for derivative in (llgrad.grad, llgrad.jvp):
        with pytest.raises(ActivityError, match="argument %table"):
            derivative(lib.f, wrt="x")
    for which, expected in ((0, table), (1, 2 * x)):
        np.testing.assert_allclose(llgrad.grad(lib.f, wrt="x", runtime_activity=True)(x, table, 3, which), expected)


@pytest.mark.parametrize("name", blas.ROUTINES)
def test_bridges(name: str) -> None:
    """What is declared can be called, in both ways, and has the types that its body has."""
    for way in ("cblas", "fortran"):
        for letter in blas.TYPES:
            own = f"{blas.OWN}{letter}{name}.7"
            text = f'{blas.declaration(own).rstrip()} "llgrad.rule"="{way}"\n'
            module = parse(text)
            assert bridged(module) and not module.function(own).is_declaration
            symbol = f"cblas_{letter}{name}" if way == "cblas" else f"{letter}{name}_"
            assert module.function(symbol).is_declaration
