"""What Python users expect of objects: signatures, errors of Python's kinds, short tracebacks, pickling, copies."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad

CODE = """
double cubes(const double *x, int n, double *restrict out) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[i] * x[i];
    *out = s;
    return s;
}
float cube(float x) { return x * x * x; }
void scaled(const double *x, int n, double k, double *y) { for (int i = 0; i < n; i++) y[i] = k * x[i] * x[i]; }
double both(const double *a, const double *b, int n, double *sums) {
    sums[0] = sums[1] = 0;
    for (int i = 0; i < n; i++) sums[0] += a[i], sums[1] += b[i];
    return sums[0] * sums[1];
}
void energy(int n, const double *x, double k, double *out) {
    double s = 0;
    for (int i = 0; i < n; i++) s += k * x[i] * x[i];
    *out = s;
}
double table(const double *w, int rows, int columns) {
    double s = 0;
    for (int i = 0; i < rows * columns; i++) s += w[i];
    return s;
}
void unknown(const double *x, int n, int m, double *y) { for (int i = 0; i < m; i++) y[i] = x[i % n]; }
double step(double x) { return x > 1 ? 2 * x : x; }
"""
X = np.array([1.0, 2.0, 3.0])


def arguments() -> tuple[Any, ...]:
    return X.copy(), 3, np.zeros(1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("surface") / "code.c"
    made.write_text(CODE)
    return made


@pytest.fixture(scope="module")
def lib(path: Path) -> llgrad.Library:
    return llgrad.load(path)


# --- errors

MISSPELT: Any = {"strct": True}
WRONG: dict[str, tuple[Callable[[llgrad.Library], Any], type[Exception], str]] = {
    "missing": (lambda lib: llgrad.load("missing.c"), FileNotFoundError, "there is no file"),
    "attribute": (lambda lib: lib.cubs, AttributeError, "did you mean cubes"),
    "item": (lambda lib: lib["cubs"], KeyError, "did you mean cubes"),
    "type": (lambda lib: lib.cube("x"), TypeError, "must be a number"),
    "value": (lambda lib: lib.cubes(X, 1 << 40, X[:1]), ValueError, "out of range"),
    "wrt": (lambda lib: llgrad.grad(lib.cubes, "y"), ValueError, "no parameter 'y'"),
    "option": (lambda lib: llgrad.grad(lib.cubes, **MISSPELT), TypeError, "takes no option 'strct'"),
    "both": (lambda lib: llgrad.grad(lib.cubes, wrt="x", argnums=0), TypeError, "takes wrt or argnums"),
    "keyword": (lambda lib: lib.cubes(x=X, m=3, out=X[:1]), TypeError, "no free parameter m and no argument for n"),
    "direction": (lambda lib: llgrad.hvp(lib.cubes)(*arguments()), TypeError, "called without a direction"),
    "derivative": (lambda lib: llgrad.grad(lib.cubes)(), TypeError, "takes 3 arguments"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_python_too(lib: llgrad.Library, name: str) -> None:
    wrong, kind, words = WRONG[name]
    with pytest.raises(kind, match=words) as caught:
        wrong(lib)
    assert isinstance(caught.value, llgrad.LlgradError)


@pytest.mark.parametrize("name", WRONG)
def test_tracebacks_end_at_the_users_line(lib: llgrad.Library, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, _, _ = WRONG[name]
    with pytest.raises(llgrad.LlgradError) as caught:
        wrong(lib)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [Path(f.filename).name for f in frames][:2] == [Path(__file__).name] * 2
    assert sum("/llgrad/" in f.filename for f in frames) <= 1
    monkeypatch.setenv("LLGRAD_TRACEBACK", "1")
    with pytest.raises(llgrad.LlgradError) as caught:
        wrong(lib)
    assert sum("/llgrad/" in f.filename for f in traceback.extract_tb(caught.value.__traceback__)) > 1


def test_a_bug_is_told_in_a_line(lib: llgrad.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: dict[str, str] = {}
    monkeypatch.setattr("llgrad.programs.derivatives.derived", lambda *_: nothing["gone"])
    with pytest.raises(llgrad.InternalError) as caught:
        llgrad.grad(lib.step)
    assert isinstance(caught.value.__cause__, KeyError)
    assert "File" not in "".join(traceback.format_exception(caught.value.__cause__))


def test_all_errors_are_exported() -> None:
    from llgrad import errors

    kinds = {n for n, k in vars(errors).items() if isinstance(k, type) and issubclass(k, Exception | Warning)}
    assert kinds <= set(llgrad.__all__)


# --- signatures and names

SIGNATURES: dict[str, tuple[Callable[[llgrad.Library], Any], list[str]]] = {
    "function": (lambda lib: lib.cubes, []),
    "grad": (lambda lib: llgrad.grad(lib.cubes), ["seed"]),
    "vjp": (lambda lib: llgrad.vjp(lib.cubes), ["seed"]),
    "jvp": (lambda lib: llgrad.jvp(lib.cubes), ["tangents"]),
    "hvp": (lambda lib: llgrad.hvp(lib.cubes), ["direction", "seed"]),
    "hessian": (lambda lib: llgrad.hessian(lib.cubes), ["seed"]),
    "jacobian": (lambda lib: llgrad.jacobian(lib.cubes), []),
    "vmap": (lambda lib: llgrad.vmap(llgrad.grad(lib.cubes), "x"), ["seed"]),
    "values": (lambda lib: llgrad.grad(lib.cubes, specialize="n"), ["seed"]),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(lib: llgrad.Library, name: str) -> None:
    made, more = SIGNATURES[name]
    assert list(inspect.signature(made(lib)).parameters) == ["x", "n", "out", *more]


def test_names_that_python_has_taken(tmp_path: Path) -> None:
    """Keywords, and the names that derivatives add, are ordinary names of parameters in C."""
    path = tmp_path / "names.c"
    path.write_text(
        "double f(const double *in, double lambda, double in_) { return in[0] * lambda * in_; }\n"
        "double g(int seed, double tangents, double direction) { return seed * tangents * tangents * direction; }\n"
    )
    lib = llgrad.load(path)
    assert list(inspect.signature(lib.f).parameters) == ["in__", "lambda_", "in_"]
    assert list(inspect.signature(llgrad.hvp(lib.g, wrt="tangents")).parameters)[3:] == ["direction_", "seed_"]
    din, dlambda = llgrad.grad(lib.f, wrt=("in", "lambda"))(np.array([2.0]), 3.0, in_=5.0)
    assert din == [15.0] and dlambda == 10.0
    assert llgrad.vjp(lib.g, wrt="tangents")(2, 3.0, 5.0, seed=2.0) == (90.0, 120.0)
    assert llgrad.jvp(lib.g, wrt="tangents")(2, 3.0, 5.0, tangents=2.0) == (90.0, 120.0)


def test_public_functions_have_signatures_and_docstrings() -> None:
    for name in llgrad.__all__:
        thing = getattr(llgrad, name)
        if callable(thing) and not issubclass(type(thing), type):
            assert inspect.signature(thing) and thing.__doc__, name


def test_dir_shows_what_users_use(lib: llgrad.Library) -> None:
    assert dir(llgrad) == sorted(llgrad.__all__)
    assert {"cube", "cubes", "step"} <= set(dir(lib)) and not [n for n in dir(lib) if n.startswith("_")]


def test_argnums_is_wrt(lib: llgrad.Library) -> None:
    np.testing.assert_array_equal(llgrad.grad(lib.cubes, argnums=0)(*arguments()), 3 * X**2)
    (found,) = llgrad.jacobian(lib.cubes, argnums=(0,))(*arguments())
    np.testing.assert_array_equal(found, 3 * X**2)


# --- pickling


def pickled(lib: llgrad.Library) -> list[tuple[Any, tuple[Any, ...]]]:
    along = (np.array([1.0, 0.0, -1.0]),)
    return [
        (lib.cubes, ()), (lib.cubes.specialized(n=3), ()), (llgrad.value_and_grad(lib.cubes, of="out"), ()),
        (llgrad.grad(lib.cubes, seed=2.0), ()), (llgrad.hvp(lib.cubes), along), (llgrad.hessian(lib.cubes), ()),
        (llgrad.jacobian(lib.cubes), ()), (llgrad.grad(lib.cubes, specialize="n"), ()),
    ]  # fmt: skip


def test_what_is_pickled_is_the_same_here(lib: llgrad.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the process has moved, and its environment has changed, since the sources were loaded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOMETHING_THAT_NO_COMPILER_READS", "1")
    for thing, more in pickled(lib):
        again = pickle.loads(pickle.dumps(thing))
        one, other = thing(*arguments(), *more), again(*arguments(), *more)
        for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (one, other)), strict=True):
            np.testing.assert_array_equal(a, b)
    batched = pickle.loads(pickle.dumps(llgrad.vmap(llgrad.grad(lib.cube), "x")))
    np.testing.assert_array_equal(batched(np.ones(2, np.float32)), [3, 3])


def test_what_is_pickled_is_the_same_in_another_process(lib: llgrad.Library, tmp_path: Path) -> None:
    file = tmp_path / "pickled"
    file.write_bytes(pickle.dumps([lib, llgrad.grad(lib.cubes)]))
    code = (
        "import pickle, sys, numpy as np\n"
        f"lib, df = pickle.load(open({str(file)!r}, 'rb'))\n"
        "assert df.function.library is lib.cubes.library\n"
        "print(df(np.array([1.0, 2.0]), 2, np.zeros(1)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "[ 3. 12.]\n", done.stderr


def test_what_has_changed_since_it_was_pickled_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "changing.c"
    path.write_text("double f(double x) { return x; }\n")
    data = pickle.dumps(llgrad.grad(llgrad.load(path).f))
    path.write_text("double f(double x) { return 2 * x; }\n")
    with pytest.raises(llgrad.SourceError, match="what is here is not what was pickled"):
        pickle.loads(data)
    path.write_text("double f(double x) { return x; }\n")
    assert pickle.loads(data)(3.0) == 1


def test_registered_rules_are_not_pickled(path: Path) -> None:
    lib = llgrad.load(path)
    llgrad.inactive(lib.step)
    with pytest.raises(llgrad.ArgumentError, match="what was registered"):
        pickle.dumps(lib)


def test_copies_are_the_thing_itself(lib: llgrad.Library) -> None:
    for thing in (lib, lib.cubes, llgrad.grad(lib.cubes)):
        assert copy.copy(thing) is thing is copy.deepcopy(thing)


# --- batches and checks


def test_vmap_keeps_the_dtype(lib: llgrad.Library) -> None:
    x = np.ones(3, np.float32)
    value, gradient = llgrad.vmap(llgrad.value_and_grad(lib.cube), "x")(x)
    assert value.dtype == gradient.dtype == llgrad.vmap(lib.cube, "x")(x).dtype == np.float32
    pushed = llgrad.vmap(llgrad.jvp(lib.cube), ("x", "tangents"))(x, tangents=x)
    assert [p.dtype for p in pushed] == [np.float32] * 2


def test_vmap_of_vmap(lib: llgrad.Library) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = llgrad.vmap(llgrad.vmap(llgrad.grad(lib.cube), "x"), "x")(x)
    np.testing.assert_array_equal(found, 3 * x**2)


def test_check_grads(lib: llgrad.Library) -> None:
    llgrad.check_grads(lib.cubes, arguments(), order=2, wrt="x")
    llgrad.check_grads(lib.cubes, arguments(), order=2, wrt="x", of="out")
    llgrad.check_grads(lib.cube, (1.5,), order=2, modes=("fwd",))
    with pytest.raises(AssertionError, match="forward mode: the derivative along a random direction is"):
        llgrad.check_grads(lib.step, (1.0,))
    with pytest.raises(AssertionError, match="reverse mode"):
        llgrad.check_grads(lib.step, (1.0,), modes=("rev",))
    with pytest.raises(ValueError, match="order=3"):
        llgrad.check_grads(lib.step, (1.0,), order=3)


# --- what follows from the sizes of arrays


def test_counts_and_outputs_may_be_left_out(lib: llgrad.Library) -> None:
    np.testing.assert_array_equal(lib.scaled(X, 2.0), 2 * X**2)
    np.testing.assert_array_equal(lib.scaled(k=2.0, x=X), 2 * X**2)
    out = np.empty(3)
    assert lib.scaled(X, k=2.0, y=out) is None and out.tolist() == [2, 8, 18]
    assert lib.scaled(X, 3, 2.0, out) is None
    result, sums = lib.both(X, 2 * X)
    assert result == 72 and sums.tolist() == [6, 12]
    assert lib.energy(X, k=2.0) == 28 == lib.energy(3, X, 2.0) == lib.energy(3, x=X, k=2.0)
    assert lib.table(np.ones(6), 2, 3) == 6


def test_derivatives_of_calls_that_leave_out_counts_and_outputs(lib: llgrad.Library) -> None:
    value, (by_x, by_k) = llgrad.value_and_grad(lib.energy)(X, k=2.0)
    assert (value, by_k) == (28, 14) and by_x.tolist() == [4, 8, 12]
    value, found = llgrad.vjp(lib.scaled, wrt="x")(X, 2.0, seed=np.ones(3))
    np.testing.assert_array_equal(value, 2 * X**2)
    np.testing.assert_array_equal(found, 4 * X)
    np.testing.assert_array_equal(llgrad.jacobian(lib.scaled, wrt="x")(X, 2.0), np.diag(4 * X))
    np.testing.assert_array_equal(llgrad.hvp(lib.cubes, wrt="x")(X, np.ones(3)), 6 * X)
    np.testing.assert_array_equal(llgrad.hessian(lib.cubes, wrt="x")(X), np.diag(6 * X))
    rows = np.stack([X, 2 * X])
    np.testing.assert_array_equal(llgrad.vmap(lib.scaled, "x")(rows, k=2.0), 2 * rows**2)
    llgrad.check_grads(lib.scaled, (X, 2.0))


OPEN: dict[str, tuple[Callable[[llgrad.Library], Any], str]] = {
    "an input": (lambda lib: lib.scaled(X), "takes 4 arguments, not 1"),
    "a name": (lambda lib: lib.scaled(X, kk=2.0), "no free parameter kk and no argument for n, k, y.*did you mean k"),
    "a count": (lambda lib: lib.scaled(X, n=2, k=1.0), "'n' of scaled is 2, but arrays have 3"),
    "sizes": (lambda lib: lib.both(X, X[:2]), "which array of both does n count.*to do: pass all arguments"),
    "a shape": (lambda lib: lib.unknown(X, 3), "takes 4 arguments, not 2"),
    "a direction": (lambda lib: llgrad.hvp(lib.cubes, wrt="x")(X), "called without a direction"),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_does_not_follow_is_asked_for(lib: llgrad.Library, name: str) -> None:
    wrong, words = OPEN[name]
    with pytest.raises(llgrad.ArgumentError, match=f"(?s){words}"):
        wrong(lib)
