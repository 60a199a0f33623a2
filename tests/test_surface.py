"""What Python users expect of objects: signatures, errors of Python's kinds, short tracebacks, pickling, copies."""

from __future__ import annotations

import copy
import ctypes
import inspect
import pickle
import signal
import subprocess
import sys
import threading
import time
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


# --- several outputs, what is computed beside, and directions

MORE = r"""
#include <complex.h>
typedef struct { double a; int n; float w[2]; } spring;
double sums(const double *a, const double *b, int n, double *both, double *y) {
    both[0] = both[1] = 0;
    for (int i = 0; i < n; i++) both[0] += a[i] * a[i], both[1] += b[i], y[i] = a[i] * b[i];
    return both[0] * both[1];
}
double pull(const spring *s, int n, double x) {
    double e = 0;
    for (int i = 0; i < n; i++) e += s[i].a * s[i].n * x * x + s[i].w[0] * s[i].w[1];
    return e;
}
int status(double x, double *y) { *y = x * x; return -7; }
void squares(const double _Complex *z, int n, double _Complex *w) { for (int i = 0; i < n; i++) w[i] = z[i] * z[i]; }
double size(const float _Complex *z, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += crealf(z[i]) * crealf(z[i]) * cimagf(z[i]);
    return s;
}
"""
A, B = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 1.0])  # sums: 14, 3; y: 2, 0, 3


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    made = tmp_path_factory.mktemp("surface") / "more.c"
    made.write_text(MORE)
    return llgrad.load(made)


def same(found: Any, wanted: Any) -> None:
    """Are two results of the same structure equal?"""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        same(tuple(found.values()), tuple(wanted.values()))
    elif isinstance(wanted, tuple):
        assert isinstance(found, tuple) and len(found) == len(wanted)
        for f, w in zip(found, wanted, strict=True):
            same(f, w)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_several_outputs(more: llgrad.Library) -> None:
    of, value = ("return", "y", "both"), (42.0, np.array([2.0, 0, 3]), np.array([14.0, 3]))
    seed = (1.0, np.array([1.0, 10, 100]), np.array([0.0, 5]))
    by_a = 6 * A + B * seed[1]
    by_b = 14.0 + A * seed[1] + 5
    pull = llgrad.vjp(more.sums, of=of)
    same(pull(A, B, seed=seed), (value, (by_a, by_b)))
    same(pull(A, B, seed={"y": seed[1]}), (value, (B * seed[1], A * seed[1])))
    batch = {"return": np.array([1.0, 0, 2]), "y": np.zeros((3, 3))}
    same(pull(A, B, seed=batch)[1][0], np.outer(batch["return"], 6 * A))
    same(llgrad.value_and_grad(more.sums, "a", of, seed=seed)(A, B), (value, by_a))
    along = np.array([1.0, 0, 2])
    same(llgrad.jvp(more.sums, "a", of)(A, B, tangents=along), (value, (42.0, along * B, np.array([14.0, 0]))))
    same(llgrad.jvp(more.sums, "a", ("y",))(A, B, tangents=np.eye(3))[1], (np.diag(B),))
    rows = ((6 * A, np.full(3, 14.0)), (np.diag(B), np.diag(A)))
    for mode in ("forward", "reverse"):
        same(llgrad.jacobian(more.sums, of=("return", "y"), mode=mode)(A, B), rows)
    same(llgrad.hessian(more.sums, "a", of, seed=seed)(A, B), 6 * np.eye(3))


def test_directions_are_given_alike(more: llgrad.Library) -> None:
    ones = np.ones(3)
    push, bend = llgrad.jvp(more.sums), llgrad.hvp(more.sums)
    for given in ({"tangents": (A * 0, ones)}, {"direction": (A * 0, ones)}, {"tangents": {"b": ones}}):
        same(push(A, B, **given), (42.0, 42.0))
        same(bend(A, B, **given), (6.0 * A / 3 * 3, np.zeros(3)))
    same(bend(A, B, (A * 0, ones)), bend(A, B, direction=(A * 0, ones)))
    same(llgrad.hvp(more.sums, "a")(A, B, tangents=np.eye(3)), 6 * np.eye(3))
    same(llgrad.vmap(llgrad.hvp(more.sums, "a"), "direction")(A, B, direction=np.eye(3)), 6 * np.eye(3))
    same(llgrad.grad(more.sums, "a", seed=2.0)(A, B), llgrad.vjp(more.sums, "a", seed=2.0)(A, B)[1])
    named: Any = {"specialize": "n"}
    same(llgrad.hvp(more.sums, "a", **named)(A, B, direction=ones), 6 * ones)


def test_what_is_computed_beside(more: llgrad.Library) -> None:
    both, y = np.array([14.0, 3]), np.array([2.0, 0, 3])
    aux, rest = {"both": both, "y": y}, {"return": 42.0, "both": both}
    options: Any = {"wrt": "a", "has_aux": True}
    same(llgrad.value_and_grad(more.sums, **options)(A, B), ((42.0, aux), 6 * A))
    same(llgrad.grad(more.sums, **options)(A, B), (6 * A, aux))
    same(llgrad.vjp(more.sums, of="y", **options)(A, B, seed=A), (y, A * B, rest))
    same(llgrad.jvp(more.sums, of="y", **options)(A, B, tangents=A), (y, A * B, rest))
    same(llgrad.jacobian(more.sums, of="y", **options)(A, B), (np.diag(B), rest))
    same(llgrad.hvp(more.sums, of="y", **options)(A, B, A, seed=A), (np.zeros(3), rest))
    same(llgrad.hessian(more.sums, **options)(A, B), (6 * np.eye(3), aux))
    same(llgrad.value_and_grad(more.status, of="y", has_aux=True)(3.0), ((9.0, {"return": -7}), 6.0))
    rows = np.stack([A, 2 * A])
    found = llgrad.vmap(llgrad.grad(more.sums, **options), "a")(rows, B)
    same(found, (6 * rows, {"both": np.array([[14.0, 3], [56, 3]]), "y": rows * B}))
    again = pickle.loads(pickle.dumps(llgrad.grad(more.sums, of=("return", "y"), seed=(1.0, A), **options)))
    same(again(A, B), (6 * A + A * B, {"both": both}))


def test_structs_and_complex_numbers_are_inputs(more: llgrad.Library) -> None:
    pull = llgrad.grad(more.pull)
    springs = np.zeros(2, more.pull.signature.parameters[0].type.dtype)
    springs["a"], springs["n"], springs["w"] = [1, 2], [3, 4], [[2, 5], [3, 7]]
    by_s, by_x = pull(springs, 2, 2.0)
    assert by_s["a"].tolist() == [12, 16] and by_s["w"].tolist() == [[5, 2], [7, 3]] and not by_s["n"].any()
    assert by_x == 44
    along = np.zeros_like(springs)
    along["w"][0, 1] = 1
    assert llgrad.jvp(more.pull)(springs, 2, 2.0, tangents={"s": along})[1] == 2
    z, one = np.array([1 + 2j, 3 - 1j]), np.array([1, 1j])
    same(llgrad.jvp(more.squares, of="w")(z, 2, np.zeros(2, complex), tangents=one), (z**2, 2 * z * one))
    same(llgrad.vjp(more.squares, of="w")(z, 2, np.zeros(2, complex), seed=one), (z**2, 2 * z.conj() * one))
    same(more.squares(z), z**2)  # (how many, and what is written, follow from the array)
    same(llgrad.vjp(more.squares)(z, seed=one)[1], 2 * z.conj() * one)
    assert more.pull(springs, x=2.0) == more.pull(springs, 2, 2.0)
    llgrad.check_grads(more.squares, (z,), order=2)
    llgrad.check_grads(more.size, (z.astype(np.complex64), 2))
    llgrad.check_grads(more.pull, (springs, 2, 2.0), order=2, tolerance=1e-3)
    with pytest.raises(llgrad.ArgumentError, match="holds complex numbers: its Jacobian is no matrix"):
        llgrad.jacobian(more.squares)(z)
    with pytest.raises(llgrad.ArgumentError, match="holds complex numbers: its Hessian is no matrix"):
        llgrad.hessian(more.size)(z.astype(np.complex64), 2)
    with pytest.raises(llgrad.ArgumentError, match="holds structs: its Jacobian is no matrix"):
        llgrad.jacobian(more.pull)(springs, 2, 2.0)
    found = llgrad.grad(more.size)(z.astype(np.complex64), 2)
    assert found.dtype == np.complex64 and found.tolist() == [4 + 1j, -6 + 9j]


WRONG_DIRECTIONS: dict[str, tuple[Callable[[llgrad.Library], Any], str]] = {
    "no seed": (lambda lib: llgrad.grad(lib.sums, of=("return", "y"))(A, B), "several outputs needs a seed"),
    "seeds": (lambda lib: llgrad.vjp(lib.sums, of=("return", "y"))(A, B, seed=A), "must be 2 values, for return, y"),
    "name": (lambda lib: llgrad.jvp(lib.sums)(A, B, tangents={"c": A}), "tangents has no c.*give a and b"),
    "twice": (lambda lib: llgrad.jvp(lib.sums, of=("y", 4)), "names a parameter twice"),
    "input": (lambda lib: llgrad.jvp(lib.sums, of=("y", "a")), "of='a' is no output"),
    "check": (lambda lib: llgrad.check_grads(lib.sums, (A, B), of=("y", "both")), "compares one output, not 2"),
    "nothing": (lambda lib: llgrad.jvp(lib.squares, of=("return", "w")), "returns void"),
    "none": (lambda lib: llgrad.hvp(lib.sums)(A, B), "called without a direction"),
}


@pytest.mark.parametrize("name", WRONG_DIRECTIONS)
def test_wrong_directions(more: llgrad.Library, name: str) -> None:
    wrong, words = WRONG_DIRECTIONS[name]
    with pytest.raises(llgrad.ArgumentError, match=f"(?s){words}"):
        wrong(more)


# --- callbacks, strings, what is passed by value, Ctrl-C

OTHERS = r"""
#include <string.h>
#include <complex.h>
typedef struct { double a, b; } pair;
typedef void (*monitor)(int, double);
__attribute__((enzyme_inactive)) static void tell(monitor f, int i, double s) { f(i, s); }
double watched(const double *x, int n, monitor f) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[i], tell(f, i, s);
    return s;
}
double applied(double (*f)(double), double x) { return f(x) * x; }
double named(const char *how, double x) { return strcmp(how, "cube") == 0 ? x * x * x : x * x; }
double taken(pair p, double x) { return p.a * p.b * x; }
pair given(double x, pair p) { pair q = {x * p.a, p.b}; return q; }
double _Complex squared(double _Complex z) { return z * z; }
double slow(double x) { for (long i = 0; i < 3000000; i++) x = x * 0.999999 + 1e-9; return x; }
"""


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    made = tmp_path_factory.mktemp("surface") / "others.c"
    made.write_text(OTHERS)
    return llgrad.load(made)


def test_callbacks_and_strings(others: llgrad.Library) -> None:
    seen: list[tuple[int, float]] = []
    watch = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_double)(lambda i, s: seen.append((i, s)))
    same(llgrad.value_and_grad(others.watched)(X, 3, watch), (14.0, 2 * X))
    assert seen == [(0, 1), (1, 5), (2, 14)]
    same(llgrad.hvp(others.watched)(X, 3, watch, X), 2 * X)
    twice = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda v: 2 * v)
    assert others.applied(twice, 3.0) == 18
    with pytest.raises(llgrad.NoRuleError, match=r"marked __attribute__\(\(enzyme_inactive\)\)"):
        llgrad.grad(others.applied)
    with pytest.raises(TypeError, match="ctypes.CFUNCTYPE"):
        others.applied(abs, 3.0)
    assert others.named("cube", 3.0) == 27 == others.named(b"cube", 3.0) == 3 * others.named("square", 3.0)
    assert llgrad.grad(others.named)("cube", 3.0) == 27


def test_a_function_that_passes_by_value_is_shown_how_to_pass_by_pointers(
    others: llgrad.Library, tmp_path: Path
) -> None:
    wrappers = []
    for name in ("taken", "given", "squared"):
        with pytest.raises(llgrad.UnsupportedError, match="by value") as caught:
            others[name](1.0)
        wrappers.append(caught.value.fix.partition(": ")[2])
    path = tmp_path / "wrapped.c"
    path.write_text("\n".join([OTHERS, *wrappers]))
    lib = llgrad.load(path)
    pair = np.array([(3.0, 5.0)], lib.taken_.signature.parameters[0].type.dtype)
    by_p, by_x = llgrad.grad(lib.taken_)(pair, 2.0)
    assert (by_p["a"], by_p["b"], by_x) == (10, 6, 15)
    out = np.zeros_like(pair)
    lib.given_(2.0, pair, out)
    assert out.tolist() == [(6.0, 5.0)]
    z, w = np.array([1 + 2j]), np.zeros(1, complex)
    same(llgrad.vjp(lib.squared_, of="result")(z, w, seed=1.0), (-3 + 4j, np.array([2 - 4j])))


def test_an_interrupt_stops_a_batch_between_elements(others: llgrad.Library) -> None:
    batch = llgrad.vmap(others.slow, "x", threads=2)
    batch(np.ones(2))
    started = time.perf_counter()
    batch(np.ones(20))
    twenty = time.perf_counter() - started
    main = threading.main_thread().ident
    timer = threading.Timer(twenty / 2, lambda: signal.pthread_kill(main or 0, signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells' background jobs begin without
    try:
        started = time.perf_counter()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            batch(np.ones(2000))
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - started < 20 * twenty
