"""No call touches memory that is not its own: sizes are checked before it, what cannot be proven is guarded."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import llgrad
from llgrad.errors import ArgumentError, ForeignError
from llgrad.execution.size_checks import Guarded
from llgrad.llvm import Engine

CODE = """
#include <math.h>
void energy(int n, const double *restrict x, double k, double *restrict out)
{
    double sum = 0.0;
    for (int i = 0; i + 1 < n; i++)
        sum += 0.5 * k * (x[i + 1] - x[i]) * (x[i + 1] - x[i]) + cos(x[i]);
    *out = sum;
}
double two(const double *a, int n, const double *b)
{ double s = 0; for (int i = 0; i < n; i++) s += a[i] * b[2 * i]; return s; }
void twice(int n, const double *x, double *y) { for (int i = 0; i < 2 * n; i++) y[i] = x[i / 2]; }
double maybe(int n, const double *x)
{ double s = 0; for (int i = 0; i < n; i++) if (i < 3) s += x[i]; return s; }
double until(int n, const double *x)
{ double s = 0; for (int i = 0; i < n && x[i] > 0; i++) s += x[i]; return s; }
double indirect(int n, const int *at, const double *x)
{ double s = 0; for (int i = 0; i < n; i++) s += x[at[i]]; return s; }
void scatter(int n, const int *at, double *y) { for (int i = 0; i < n; i++) y[at[i]] += 1.0; }
void move(int n, const int *at, const double *x, double *y) { for (int i = 0; i < n; i++) y[at[i]] = x[i]; }
double backwards(int n, const double *x)
{ double s = 0; for (int i = n - 1; i >= 0; i -= 2) s += x[i]; return s; }
double matrix(int n, int m, const double *a)
{ double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s += a[i * m + j]; return s; }
double corner(int n, const double *a)
{ double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) s += a[i * n + j]; return s; }
__attribute__((noinline)) static double inner(const double *x, int k)
{ double s = 0; for (int i = 0; i <= k; i++) s += x[i] * x[i]; return s; }
double outer(int n, const double *x) { return n > 2 ? inner(x + 1, n) : 0.0; }
double null_or(int n, const double *x)
{ double s = n; if (x) for (int i = 0; i < n; i++) s += x[i]; return s; }
double counted(const int *n, const double *x)
{ double s = 0; for (int i = 0; i < *n; i++) s += x[i]; return s; }
struct shape { long rows, cols; };
double shaped(const struct shape *s, const double *x, double *y)
{ double t = 0; for (long i = 0; i < s->rows; i++) for (long j = 0; j < s->cols; j++) t += y[i] = x[i * s->cols + j];
  return t; }
void raise_to(const int *n, int *x) { for (int i = 0; i < *n; i++) x[i] = 1000; }
double ahead(int n, int k, const double *x)
{ if (n > 2 && x[0] > 0) if (k < n) return x[k] > 5.0; return 0; }
void halve(int *n, double *x) { for (; *n > 0; *n -= 1) x[*n - 1] /= 2; }
static double *kept;
void keep(double *x) { kept = x; }
void use(int k) { kept[k] += 1.0; }
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sizes") / "sizes.c"
    made.write_text(CODE)
    return made


@pytest.fixture(scope="module")
def lib(path: Path) -> llgrad.Library:
    return llgrad.load(path)


def array(n: int) -> Any:
    return np.linspace(1.0, 2.0, n)


def at(*k: int) -> Any:
    return np.array(k, np.int32)


@pytest.mark.parametrize("n", [64, 5000])
def test_the_example_of_the_readme_with_too_large_a_number(lib: llgrad.Library, n: int) -> None:
    x, out = array(5), np.zeros(1)
    df = llgrad.value_and_grad(lib.energy, wrt=("x", "k"), of="out")
    value, (dx, _) = df(5, x, 2.0, out)
    assert np.isfinite(value) and dx.shape == (5,)
    for call in (lib.energy, df, llgrad.hessian(lib.energy, wrt="x", of="out")):
        with pytest.raises(ArgumentError, match=f"'x' of energy has 5 elements.* reads element {n - 1} for n = {n}"):
            call(n, x, 2.0, out)
    with pytest.raises(ArgumentError, match="reads element 5 for n = 6"):
        llgrad.vmap(df, over="x")(6, np.array([x, x]), 2.0, out)
    with pytest.raises(ArgumentError, match="reads element 5 for n = 6"):
        llgrad.jvp(lib.energy, wrt="x", of="out")(6, x, 2.0, out, tangents=x)


SHAPE = np.array((2, 3), [("rows", "i8"), ("cols", "i8")])
LEGAL = [
    ("two", (array(3), 3, array(5))), ("two", (None, 0, None)), ("twice", (2, array(2), array(4))),
    ("maybe", (100, array(3))), ("until", (9, -array(1))), ("indirect", (3, at(0, 4, 2), array(5))),
    ("scatter", (2, at(1, 0), array(2))), ("backwards", (5, array(5))), ("backwards", (-5, array(0))),
    ("matrix", (2, 3, array(6))), ("matrix", (2, -3, array(0))), ("corner", (3, array(8))),
    ("outer", (3, array(5))), ("outer", (2, array(0))), ("null_or", (3, None)), ("null_or", (3, array(3))),
    ("counted", (at(3), array(3))), ("counted", (at(-3), None)), ("shaped", (SHAPE, array(6), array(2))),
    ("raise_to", (at(2), at(1, 2))), ("halve", (at(3), array(3))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), LEGAL)
def test_legal_calls_are_not_refused(lib: llgrad.Library, path: Path, name: str, args: tuple[Any, ...]) -> None:
    plain = llgrad.load(path, unchecked=True)
    ours, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    assert lib[name](*ours) == plain[name](*theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a is b


ILLEGAL = [
    ("two", (None, 4, array(8)), "'a' of two is None, but the code reads what it points to for n = 4"),
    ("two", (array(4), 4, array(6)), "'b' of two has 6 elements, but the code reads element 6"),
    ("twice", (3, array(3), array(5)), "'y' of twice has 5 elements, but the code writes element 5"),
    ("backwards", (7, array(6)), "reads element 6 for n = 7"), ("matrix", (2, 3, array(5)), "reads element 5"),
    ("corner", (3, array(7)), "reads element 7 for n = 3"), ("outer", (3, array(4)), "reads element 4 for n = 3"),
    ("counted", (at(4), array(3)), "reads element 3 for n = 4"), ("counted", (at(4), None), "'x' of counted is None"),
    ("shaped", (SHAPE, array(5), array(2)), "reads element 5"),
    ("shaped", (SHAPE, array(6), array(1)), "writes element 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "words"), ILLEGAL)
def test_what_certainly_leaves_an_array_is_refused_before_it_runs(
    lib: llgrad.Library, name: str, args: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        lib[name](*args)


def test_what_lies_before_alone_is_seen(lib: llgrad.Library) -> None:
    """Nothing behind the array is accessed, by proof: then it lies at the start of its pages, and a read faults."""
    assert lib.ahead(3, 1, array(3)) == 0.0
    with pytest.raises(ForeignError, match="accessed element -2 of argument 'x', which has 3 elements"):
        lib.ahead(3, -2, array(3))


GUARDED = [
    ("indirect", (3, at(0, 5, 2), array(5)), "accessed element 5 of argument 'x', which has 5 elements"),
    ("indirect", (3, at(0, 10**8, 2), array(5)), "accessed element 100000000 of argument 'x'"),
    ("indirect", (3, at(0, 1, 2), None), "followed a null pointer"),
    ("scatter", (2, at(1, 2), array(2)), "accessed element 2 of argument 'y'"),
    ("scatter", (2, at(1, -2), array(2)), "wrote before its first element of argument 'y'"),
    ("until", (6, array(5)), "accessed element 5 of argument 'x'"), ("halve", (at(4), array(3)), "accessed element 3"),
    ("counted", (at(), array(3)), "accessed element 0 of argument 'n'"), ("counted", (None, array(3)), "null pointer"),
    ("maybe", (100, array(2)), "accessed element 2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "words"), GUARDED)
def test_what_cannot_be_proven_is_guarded(
    lib: llgrad.Library, path: Path, name: str, args: tuple[Any, ...], words: str
) -> None:
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    for library in (lib, llgrad.load(path, isolate=True)):
        with pytest.raises(ForeignError, match=words):
            library[name](*args)
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True))


def test_integers_by_reference_prove_sizes(lib: llgrad.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is copied; what may change while the function runs proves nothing."""
    calls = [("counted", (at(3), array(3))), ("shaped", (SHAPE, array(6), array(2))), ("raise_to", (at(2), at(1, 2)))]
    shared, moved, move = at(2, 3), list[Any](), Guarded._move

    def noted(self: Guarded, *given: Any) -> None:
        moved.append(given)
        move(self, *given)

    monkeypatch.setattr(Guarded, "_move", noted)
    for name, args in calls:
        lib[name](*args)
    assert not moved
    lib.halve(at(3), array(3))
    assert moved
    with pytest.raises(ForeignError, match="accessed element 2 of argument"):
        lib.raise_to(shared[:1], shared)
    assert shared.tolist() == [2, 3]


def test_derivatives_are_guarded(lib: llgrad.Library) -> None:
    x = array(5)
    assert llgrad.grad(lib.indirect, wrt="x")(2, at(4, 4), x).tolist() == [0, 0, 0, 0, 2]
    with pytest.raises(ForeignError, match="accessed element 7 of argument 'x'"):
        llgrad.grad(lib.indirect, wrt="x")(2, at(4, 7), x)


def test_arrays_that_overlap_stay_together(lib: llgrad.Library) -> None:
    x = array(4)
    lib.move(3, at(0, 1, 2), x[:3], x[1:])
    assert x.tolist() == [1.0, 1.0, 1.0, 1.0]


def test_memory_that_the_program_keeps_is_not_moved(lib: llgrad.Library) -> None:
    x = np.zeros(3)
    lib.keep(x)
    lib.use(1)
    assert x.tolist() == [0.0, 1.0, 0.0]


def test_other_faults_still_end_the_process(path: Path) -> None:
    code = f"""
import faulthandler, ctypes, llgrad, numpy as np
faulthandler.enable()
lib = llgrad.load({str(path)!r})
try:
    lib.indirect(1, np.array([9], np.int32), np.ones(2))
except llgrad.LlgradError:
    print("caught", flush=True)
ctypes.string_at(8)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "caught\n" and done.returncode == -11
    assert "Segmentation fault" in done.stderr


FORTRAN = """
subroutine total(n, x, y)
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: y
  y = sum(x)
end subroutine
"""
RUST = """
#[no_mangle]
pub fn sum_of(x: &[f64], n: usize) -> f64 { let mut s = 0.0; for i in 0..n { s += x[i]; } s }
"""


@pytest.mark.skipif(not shutil.which("flang-22") and not shutil.which("flang"), reason="no flang")
def test_fortran(tmp_path: Path) -> None:
    (tmp_path / "total.f90").write_text(FORTRAN)
    total = llgrad.load(tmp_path / "total.f90").total
    y = np.zeros(1)
    total(np.array(4, np.int32), array(4), y)
    assert y[0] == array(4).sum()
    with pytest.raises(llgrad.LlgradError, match="element 4"):
        total(np.array(5, np.int32), array(4), y)


@pytest.mark.skipif(not shutil.which("rustc"), reason="no rustc")
def test_rust_panics_as_before(tmp_path: Path) -> None:
    (tmp_path / "sums.rs").write_text(RUST)
    sum_of = llgrad.load(tmp_path / "sums.rs").sum_of
    assert sum_of(array(4), 4) == array(4).sum()
    with pytest.raises(ForeignError, match="panicked"):
        sum_of(array(4), 5)


@pytest.mark.parametrize("way", ["", "--foreign"])
def test_some_random_functions(way: str) -> None:
    script = Path(__file__).with_name("memory_fuzz.py")
    command = [sys.executable, str(script), "--here", "--count", "15", *way.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_threads_fault_apart(lib: llgrad.Library) -> None:
    x, good = np.ones((64, 5)), np.tile(at(0, 4), (64, 1))
    sums = llgrad.vmap(lib.indirect, over=("at", "x"), threads=4)
    assert sums(2, good, x).tolist() == [2.0] * 64
    for bad in (0, 31, 63):
        wrong = good.copy()
        wrong[bad, 1] = 5
        with pytest.raises(ForeignError, match="accessed element 5"):
            sums(2, wrong, x)
    assert sums(2, good, x).tolist() == [2.0] * 64


def test_unchecked_derivatives_compute_the_same(lib: llgrad.Library) -> None:
    x = array(5)
    checked, unchecked = (llgrad.grad(lib.indirect, wrt="x", unchecked=u) for u in (False, True))
    assert np.array_equal(checked(3, at(0, 0, 2), x), unchecked(3, at(0, 0, 2), x))


STRUCTS = """
typedef struct node { double value; struct node *next; } node;
double total(const node *first) { double s = 0; for (; first; first = first->next) s += first->value; return s; }
void scale(int n, node *all) { for (int i = 0; i < n; i++) all[i].next->value *= 2; }
"""


def test_memory_that_holds_addresses_is_not_moved(tmp_path: Path) -> None:
    (tmp_path / "nodes.c").write_text(STRUCTS)
    lib = llgrad.load(tmp_path / "nodes.c")
    nodes = np.zeros(3, np.dtype([("value", "f8"), ("next", "u8")]))
    nodes["value"] = 1, 2, 4
    nodes["next"][:2] = nodes.ctypes.data + 16 * np.arange(1, 3, dtype=np.uint64)
    assert lib.total(nodes) == 7.0
    lib.scale(2, nodes)
    assert nodes["value"].tolist() == [1.0, 4.0, 8.0]


def test_threads_share_one_check(lib: llgrad.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has the address of a check has it for good: a second engine freed the first one's code."""
    test, made, make = cast(Any, llgrad.grad(lib.two))._test(1), list[Engine](), Engine.from_object

    def slowly(data: bytes) -> Engine:
        made.append(make(data))
        time.sleep(0.05)
        return made[-1]

    monkeypatch.setattr(Engine, "from_object", slowly)
    with ThreadPoolExecutor(8) as pool:
        addresses = {future.result() for future in [pool.submit(test.address) for _ in range(8)]}
    assert len(made) == 1 and len(addresses) == 1
