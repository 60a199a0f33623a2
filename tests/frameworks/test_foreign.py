"""Roles of parameters, and derivatives on addresses, as all frameworks use them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad
from llgrad.errors import ArgumentError, UnknownNameError
from llgrad.foreign import ForeignShapeError, ForeignSignatureError, ForeignTypeError, Tape, load_foreign
from llgrad.foreign.numpy import jacobian, run, run_batch

DECLARED: dict[str, dict[str, Any]] = {
    "f": {}, "waves": {}, "energy": {}, "layer": {"out": ("rows",)}, "square": {},
    "blend": {"out": {"sums": "like at"}, "counts": {"n": "at"}},
    "relax": {"updates": "u"}, "staged": {"scratch": {"tmp": "like x"}}, "stateful": {},
    "accumulate": {"out": "like x"}, "resize": {"out": ("m",)},
}  # fmt: skip


def names(lib: llgrad.Library, function: str, **declared: Any) -> tuple[str, str]:
    found = load_foreign(lib[function], **declared)
    return " ".join(i.name for i in found.roles.inputs), " ".join(m.name for m in found.outputs)


@pytest.mark.parametrize(
    ("function", "inputs", "outputs"),
    [
        ("f", "inp", "out"), ("waves", "x", "y"), ("energy", "x a k", "its result"), ("square", "x", "its result"),
        ("layer", "rows columns w x", "y"), ("blend", "x y t at", "its result sums"), ("relax", "u rate", "u"),
        ("staged", "x", "its result"), ("point", "x", "y"), ("accumulate", "x", "y"), ("resize", "x m", "y"),
    ],
)  # fmt: skip
def test_roles(lib: llgrad.Library, function: str, inputs: str, outputs: str) -> None:
    assert names(lib, function, **DECLARED.get(function, {})) == (inputs, outputs)


@pytest.mark.parametrize(
    ("function", "says", "shows"),
    [
        ("layer", "rows, columns may decide the shape of y", """out={'y': "like w"}"""),
        ("resize", "m may decide the shape of y", "out={'y': \"like x\"}"),
        ("relax", "u may be read and written", "updates=('u',)"),
        ("accumulate", "y may be read and written", "out={'y': \"like x\"}"),
        ("status", "returns int", "wrapper in C"),
        ("nothing", "no output", "out={"),
    ],
)
def test_what_is_open_is_refused(lib: llgrad.Library, function: str, says: str, shows: str) -> None:
    with pytest.raises(ForeignSignatureError) as raised:
        load_foreign(lib[function])
    assert says in str(raised.value) and shows in str(raised.value)


# --- outputs that nobody declared -----------------------------------------------------------------------------------

LAYERS = r"""
#include <math.h>
#include <string.h>
void softmax(const double *x, int n, double *y) {
    double s = 0;
    for (int i = 0; i < n; i++) { y[i] = exp(x[i]); s += y[i]; }
    for (int i = 0; i < n; i++) y[i] /= s;
}
void matvec(const double *w, const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) y[i] = 0;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] += w[i * n + j] * x[j];
}
static __attribute__((noinline)) void zero(float *y, size_t n) { memset(y, 0, n * sizeof *y); }
void scaled(const float *x, size_t n, float *y) {
    zero(y, n);
    for (int k = 1; k < 3; k++) for (size_t i = 0; i < n; i++) y[i] += k * x[i] * x[i];
    for (size_t i = 0; i < n; i++) y[i] *= 0.5f;
}
void wide(const double *x, int n, double *y) { for (int i = 0; i < 2 * n; i++) y[i] = x[i / 2]; }
void differences(const double *x, int n, double *y) { for (int i = 0; i < n - 1; i++) y[i] = x[i + 1] - x[i]; }
void three(const double *x, int n, double *y) { for (int i = 0; i < 3; i++) y[i] = n * x[i]; }
void sums(const double *x, int n, double *y) { y[0] = x[0]; for (int i = 1; i < n; i++) y[i] = y[i - 1] + x[i]; }
void put(const double *x, const int *at, int n, double *y) { for (int i = 0; i < n; i++) y[at[i]] = x[i]; }
void late(const double *x, int n, double *y) {
    for (int i = 1; i < n; i++) y[i] = 0;
    for (int i = 0; i < n; i++) y[i] += x[i];
}
"""


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = tmp_path_factory.mktemp("layers") / "layers.c"
    path.write_text(LAYERS)
    return llgrad.load(path)


def test_what_is_written_before_it_is_read_is_an_output(layers: llgrad.Library) -> None:
    x, w = np.array([0.3, -0.2, 0.9]), np.arange(9.0).reshape(3, 3)
    p = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(jacobian(load_foreign(layers.softmax), [x], (), (0,)), np.diag(p) - np.outer(p, p))
    matvec = load_foreign(layers.matvec, counts={"n": "x"})  # y is as long as x, not as w
    np.testing.assert_allclose(jacobian(matvec, [w, x], (), (1,)), w)
    np.testing.assert_allclose(jacobian(load_foreign(layers.scaled), [x.astype(np.float32)], (), (0,)), np.diag(3 * x))
    with pytest.raises(ForeignSignatureError, match="y may be read and written"):
        load_foreign(layers.late)


def test_outputs_of_other_languages(tmp_path: Path) -> None:
    """Algorithms of C++'s library, and arrays that Fortran clears whole."""
    (tmp_path / "soft.cpp").write_text(
        "#include <algorithm>\n#include <cmath>\n#include <numeric>\n"
        'extern "C" void soft(const double *x, int n, double *y) {'
        "std::transform(x, x + n, y, [](double v) { return std::exp(v); });"
        "double s = std::accumulate(y, y + n, 0.0); std::for_each(y, y + n, [s](double &v) { v /= s; }); }"
    )
    (tmp_path / "layer.f90").write_text(
        "subroutine layer(x, n, y) bind(c)\n  use iso_c_binding\n  integer(c_int), value :: n\n"
        "  real(c_double), intent(in) :: x(n)\n  real(c_double), intent(out) :: y(n)\n  integer :: i, j\n"
        "  y = 0\n  do i = 1, n\n    do j = 1, i\n      y(i) = y(i) + x(j)\n    end do\n  end do\nend subroutine\n"
    )
    x = np.array([0.3, -0.2, 0.9])
    p, found = np.exp(x) / np.exp(x).sum(), 0
    for file, name, wanted in (("soft.cpp", "soft", np.diag(p) - np.outer(p, p)), ("layer.f90", "layer", np.tri(3))):
        try:
            made = load_foreign(tmp_path / file, name)
        except llgrad.errors.SourceError as error:  # there is no compiler, or no header
            print(error)
            continue
        found += 1
        np.testing.assert_allclose(jacobian(made, [x], (), (0,)), wanted)
    if not found:
        pytest.skip("there is neither a compiler for C++ nor one for Fortran")


@pytest.mark.parametrize("level", [0, 3])
def test_levels_find_the_same_outputs(layers: llgrad.Library, level: int) -> None:
    again = llgrad.load(layers.softmax.library.paths, optimize=level)
    for name in ("softmax", "scaled", "sums"):
        assert load_foreign(again[name]).roles.outputs == load_foreign(layers[name]).roles.outputs


@pytest.mark.parametrize(
    ("function", "says", "shows"),
    [
        ("wide", r"writes 2\*n elements of y, not as many as x has", "out={'y': (\"2*n\",)}"),
        ("differences", "writes n - 1 elements of y", "out={'y': (\"n - 1\",)}"),
        ("put", "how many elements of y the code writes is not known", "out={'y'"),
    ],
)
def test_shapes_that_are_not_proven_are_refused(layers: llgrad.Library, function: str, says: str, shows: str) -> None:
    with pytest.raises(ForeignSignatureError, match=says) as raised:
        load_foreign(layers[function])
    assert shows in str(raised.value)


def test_shapes_that_fit_some_sizes(layers: llgrad.Library) -> None:
    three, sums = load_foreign(layers.three), load_foreign(layers.sums)
    assert [three.roles.resolve([(n,)], []).outputs for n in (2, 3, 4)] == [((3,),)] * 3
    np.testing.assert_allclose(jacobian(sums, [np.ones(3)], (), (0,)), np.tril(np.ones((3, 3))))
    with pytest.raises(ForeignShapeError, match="sums writes 1 elements of y"):
        sums.roles.resolve([(0,)], [])


def test_terms_of_integers_in_shapes(layers: llgrad.Library) -> None:
    wide = load_foreign(layers.wide, out=("2*n",))
    np.testing.assert_allclose(jacobian(wide, [np.ones(3)], (), (0,)), np.repeat(np.eye(3), 2, axis=0))
    assert load_foreign(layers.differences, out={"y": ("n - 1",)}).roles.resolve([(4,)], []).outputs == ((3,),)
    with pytest.raises(UnknownNameError, match="'k', which is not an integer"):
        load_foreign(layers.wide, out=("2*k",))
    with pytest.raises(ForeignSignatureError, match="is no size"):
        load_foreign(layers.wide, out=("n**2",)).roles.resolve([(4,)], [])


def test_arrays_that_are_too_short_are_refused(lib: llgrad.Library) -> None:
    """Declared outputs and arrays that nothing counts: what certainly exceeds them is told before anything runs."""
    with pytest.raises(ForeignShapeError, match="'y' of wide has 3 elements, but the code writes element 5"):
        load_foreign(lib.wide, out="like x").call("primal", (), ((3,),))
    fourth = load_foreign(lib.fourth, counts={"n": "x"})
    for kind, wrt in (("primal", ()), ("vjp", (1,)), ("record", (0,))):
        assert fourth.call(kind, wrt, ((3,), (4,)))
        with pytest.raises(ForeignShapeError, match="'t' of fourth has 3 elements, but the code reads element 3"):
            fourth.call(kind, wrt, ((3,), (3,)))


@pytest.mark.parametrize("kind", ["primal", "vjp", "jvp", "second", "bend"])
def test_what_is_written_outside_is_seen(lib: llgrad.Library, kind: str) -> None:
    """Where nothing is known of an address: in the function and in all its derivatives, alone and in batches."""
    put, x = load_foreign(lib.put, out={"y": (5,)}, counts={"n": "at"}), np.array([1.0, 2.0, 3.0])
    call = put.call(kind, () if kind == "primal" else (0,), ((3,), (3,)))
    more = [np.ones(s, d) for s, d in call.taken[2:]]
    wanted = {"primal": [1, 0, 9, 0, 4], "jvp": [2, 0, 6, 0, 4], "bend": [2, 0, 2, 0, 2]}.get(kind)
    wanted = wanted or [[2, 4, 6], [2, 2, 2]][kind == "second"]
    at = np.array([0, 4, 2], np.int32)
    np.testing.assert_array_equal(run(call, [x, at, *more])[0], wanted)
    both = run_batch(call, 2, [x, np.array([at, at[::-1]]), *more], [n != 1 for n in range(2 + len(more))])[0]
    np.testing.assert_array_equal(both[0], wanted)
    for wrong in (5, -1, 300, -300, 10**8):
        with pytest.raises(llgrad.LlgradError, match=r"put (accessed element -?\d+|wrote before its first element) of"):
            run(call, [x, np.array([0, wrong, 2], np.int32), *more])
    np.testing.assert_array_equal(run(call, [x, at, *more])[0], wanted)


def test_adjoints_of_what_is_read_outside(tmp_path: Path) -> None:
    """A reverse sweep writes where the function reads: arrays that are read anywhere are guarded, and adjoints."""
    path = tmp_path / "code.c"
    path.write_text(
        "double taken(const double *t, const int *at, int n) {"
        "double s = 0; for (int i = 0; i < n; i++) s += t[at[i]] * t[at[i]]; return s; }"
    )
    f, t = load_foreign(path, "taken", counts={"n": "at"}), np.arange(4.0)
    call = f.call("vjp", (0,), ((4,), (2,)))
    assert run(call, [t, np.array([1, 3], np.int32), np.array(1.0)])[0].tolist() == [0, 2, 0, 6]
    more, wrong = np.arange(8.0), np.array([1, 5], np.int32)
    for one, seeds in ((call, [np.array(1.0)]), (f.call("primal", (), ((4,), (2,))), [])):
        with pytest.raises(llgrad.LlgradError, match="taken accessed element 5 of argument 't', which has 4 elements"):
            run(one, [more[:4], wrong, *seeds])


def test_tapes_that_are_guarded(lib: llgrad.Library) -> None:
    put = load_foreign(lib.put, out={"y": (5,)}, counts={"n": "at"})
    x, at = np.array([1.0, 2.0, 3.0]), np.array([0, 4, 2], np.int32)
    y, found, seeds = np.zeros(5), np.zeros(3), np.ones(5)
    tape = Tape(put, (0,), ((3,), (3,)), (), [x.ctypes.data, at.ctypes.data], [y.ctypes.data])
    assert y.tolist() == [1, 0, 9, 0, 4]
    for _ in range(2):
        tape.pull([seeds.ctypes.data], [found.ctypes.data])
        assert found.tolist() == [2, 4, 6]
    at[1] = 5
    with pytest.raises(llgrad.LlgradError, match="put accessed element 5 of argument 'y'"):
        Tape(put, (0,), ((3,), (3,)), (), [x.ctypes.data, at.ctypes.data], [y.ctypes.data])


def test_wrong_declarations(lib: llgrad.Library) -> None:
    with pytest.raises(UnknownNameError, match="no parameter 'z'"):
        load_foreign(lib.waves, out={"z": "like x"})
    with pytest.raises(UnknownNameError, match="'w', which is not an input"):
        load_foreign(lib.waves, out="like w")
    with pytest.raises(ForeignSignatureError, match="cannot be an output"):
        load_foreign(lib.waves, out={"x": (3,)})
    with pytest.raises(ForeignSignatureError, match="declared twice"):
        load_foreign(lib.relax, updates="u", scratch={"u": (3,)})
    with pytest.raises(ForeignSignatureError, match="no shape"):
        load_foreign(lib.waves, out=3.5)
    with pytest.raises(ArgumentError, match="which function"):
        load_foreign("test.c")
    with pytest.raises(ArgumentError, match="3 is neither a file nor a function"):
        load_foreign(3)


def test_sizes(lib: llgrad.Library) -> None:
    product = load_foreign(lib.product)
    assert product.roles.resolve([(3,), (3,)], []).integers == (3,)
    with pytest.raises(ForeignShapeError, match="x has 3, y has 2"):
        product.roles.resolve([(3,), (2,)], [])
    assert load_foreign(lib.product, counts={"n": "y"}).roles.resolve([(3,), (2,)], []).integers == (2,)
    axis = load_foreign(lib.product, counts={"n": ("y", 1)})
    assert axis.roles.resolve([(3,), (2, 5)], []).integers == (5,)
    both = load_foreign(lib.product, counts={"n": [("y", 1), "x"]})
    assert both.roles.resolve([(5,), (2, 5)], []).integers == (5,)
    with pytest.raises(ForeignShapeError, match="n of product counts 4, but x has 5"):
        both.roles.resolve([(5,), (2, 4)], [])
    with pytest.raises(ForeignShapeError, match="no axis 1"):
        axis.roles.resolve([(3,), (2,)], [])
    shaped = load_foreign(lib.layer, out=lambda w, x: w[:-1], counts={"rows": ("w", 0), "columns": ("w", 1)})
    assert shaped.roles.resolve([(2, 3), (3,)], []).outputs == ((2,),)
    with pytest.raises(ForeignShapeError, match="must be one number"):
        load_foreign(lib.square).roles.resolve([(2,)], [])


def test_arguments(lib: llgrad.Library) -> None:
    layer = load_foreign(lib.layer, out=("rows",))
    w, x = np.zeros(6), np.zeros(3)
    assert layer.split([2, 3, w, x], {}) == ([w, x], [2, 3]) == layer.split([2], {"columns": 3, "w": w, "x": x})
    with pytest.raises(ForeignTypeError, match="takes 4 inputs, not 2"):
        layer.split([w, x], {})
    with pytest.raises(ForeignTypeError, match="rows must be an integer, not float"):
        layer.split([2.0, 3, w, x], {})
    with pytest.raises(ForeignTypeError, match="out of range"):
        layer.split([2**31, 3, w, x], {})
    with pytest.raises(ForeignTypeError, match="no free input z"):
        layer.split([2, 3, w], {"z": x})


# --- derivatives ------------------------------------------------------------------------------------------------------


def inputs(function: str, rng: np.random.Generator) -> tuple[list[Any], tuple[int, ...]]:
    """Tensors and integers for a function of the tests."""
    x = rng.uniform(0.5, 1.5, 5)
    return {
        "f": ([x.astype(np.float32)], ()),
        "energy": ([x, rng.uniform(0.5, 1.5, 5), np.array(0.7)], ()),
        "layer": ([rng.normal(size=(4, 5)), x], (4, 5)),
        "square": ([np.array(1.3)], ()),
        "blend": ([np.array(1.3), np.array(0.4), x, np.array([0, 4, 2, 2], np.int32)], ()),
        "relax": ([x, np.array(0.3)], ()),
        "resize": ([x], (7,)),
    }.get(function, ([x], ()))


def primal(f: Any, tensors: list[Any], statics: tuple[int, ...]) -> np.ndarray:
    made = run(f.call("primal", (), tuple(a.shape for a in tensors), statics), tensors)
    return np.concatenate([a.reshape(-1) for a in made]).astype(np.float64)


@pytest.mark.parametrize("function", DECLARED)
def test_jacobians_by_both_modes_and_differences(lib: llgrad.Library, function: str) -> None:
    f = load_foreign(lib[function], **DECLARED[function])
    tensors, statics = inputs(function, np.random.default_rng(3))
    before = [a.copy() for a in tensors]
    shapes = tuple(a.shape for a in tensors)
    step = 1e-2 if function == "f" else 1e-5
    for wrt in {f.active, f.active[:1], f.active[-1:]}:
        columns = []
        for n in wrt:
            for place in np.ndindex(tensors[n].shape):
                moved = [[a.copy() for a in tensors] for _ in range(2)]
                moved[0][n][place] += step
                moved[1][n][place] -= step
                columns.append((primal(f, moved[0], statics) - primal(f, moved[1], statics)) / (2 * step))
        expected = np.array(columns).T
        tolerance = 1e-3 if function == "f" else 1e-7
        found = jacobian(f, tensors, statics, wrt)
        np.testing.assert_allclose(found, expected, atol=tolerance)
        rows = []
        call = f.call("vjp", wrt, shapes, statics)
        seeds = [np.zeros(s, d) for s, d in call.taken[len(tensors) :]]
        for seed in seeds:
            for place in np.ndindex(seed.shape):
                seed[place] = 1
                made = run(call, [*tensors, *seeds])
                assert seed[place] == 1 and np.sum(seed) == 1  # what is given stays as it is
                seed[place] = 0
                rows.append(np.concatenate([a.reshape(-1) for a in made]))
        np.testing.assert_allclose(np.array(rows), found, rtol=1e-5 if function == "f" else 1e-12, atol=1e-12)
    assert all(np.array_equal(a, b) for a, b in zip(tensors, before, strict=True))


@pytest.mark.parametrize("function", DECLARED)
def test_second_derivatives(lib: llgrad.Library, function: str) -> None:
    """Both kinds against differences of the first derivatives, and against each other."""
    f, rng = load_foreign(lib[function], **DECLARED[function]), np.random.default_rng(5)
    tensors, statics = inputs(function, rng)
    shapes, step, tolerance = tuple(a.shape for a in tensors), *((1e-2, 2e-2) if function == "f" else (1e-5, 1e-7))
    for wrt in {f.active, f.active[:1]}:
        second = f.call("second", wrt, shapes, statics)
        count = len(tensors)
        weights = [rng.normal(size=s).astype(d) for s, d in second.taken[count : count + len(f.outputs)]]
        one, other = ([np.asarray(rng.normal(size=shapes[n]), tensors[n].dtype) for n in wrt] for _ in range(2))
        found = run(second, [*tensors, *weights, *one])
        sides = []
        for h in (step, -step):
            moved = [a.copy() for a in tensors]
            for n, v in zip(wrt, one, strict=True):
                moved[n] = np.asarray(moved[n] + h * v, moved[n].dtype)
            sides.append(run(f.call("vjp", wrt, shapes, statics), [*moved, *weights]))
        for g, plus, minus in zip(found, *sides, strict=True):
            np.testing.assert_allclose(g, (plus - minus) / (2 * step), atol=tolerance)
        bent = run(f.call("bend", wrt, shapes, statics), [*tensors, *one, *other])
        by_bend = sum(float(np.sum(w * b)) for w, b in zip(weights, bent, strict=True))
        by_second = sum(float(np.sum(g * v)) for g, v in zip(found, other, strict=True))
        assert by_bend == pytest.approx(by_second, rel=1e-4 if function == "f" else 1e-11, abs=1e-10)


@pytest.mark.parametrize("function", DECLARED)
def test_tapes(lib: llgrad.Library, function: str) -> None:
    """Adjoints from tapes, repeatedly and interleaved, are those of the combined derivative."""
    f = load_foreign(lib[function], **DECLARED[function])
    for wrt in {f.active, f.active[-1:]}:
        kept = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            tensors, statics = inputs(function, rng)
            shapes = tuple(a.shape for a in tensors)
            pull = f.call("vjp", wrt, shapes, statics)
            seeds = [np.asarray(rng.normal(size=s), d) for s, d in pull.taken[len(tensors) :]]
            made = [np.full(s, np.nan, d) for s, d in f.call("primal", (), shapes, statics).made]
            tape = Tape(f, wrt, shapes, statics, [a.ctypes.data for a in tensors], [a.ctypes.data for a in made])
            wanted = run(f.call("primal", (), shapes, statics), tensors)
            assert all(np.array_equal(a, b) for a, b in zip(made, wanted, strict=True))
            kept.append((tape, tensors, seeds, run(pull, [*tensors, *seeds])))
        for tape, _, seeds, expected in [*kept, *reversed(kept)]:
            found = [np.full(s, np.nan, d) for s, d in tape.made]
            tape.pull([a.ctypes.data for a in seeds], [a.ctypes.data for a in found])
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6 if function == "f" else 1e-13)


def test_one_array_given_twice(lib: llgrad.Library) -> None:
    f = load_foreign(lib.product)
    x = np.arange(1.0, 4.0)
    call = f.call("vjp", (0, 1), (x.shape, x.shape))
    for given in ([x, x, np.array(2.0)], [x, x.copy(), np.array(2.0)]):
        assert [list(g) for g in run(call, given)] == [[2, 4, 6], [2, 4, 6]]
    assert run(f.call("jvp", (0,), (x.shape, x.shape)), [x, x, x])[0] == 14


def test_no_elements(lib: llgrad.Library) -> None:
    f, x = load_foreign(lib.waves), np.zeros(0)
    assert run(f.call("primal", (), ((0,),)), [x])[0].shape == (0,)
    assert run(f.call("vjp", (0,), ((0,),)), [x, x])[0].shape == (0,)


def test_batches_over_threads(lib: llgrad.Library) -> None:
    f = load_foreign(lib.waves)
    x = np.random.default_rng(0).normal(size=(3000, 40))
    call = f.call("vjp", (0,), ((40,),))
    seeds = np.ones(40)
    made = run_batch(call, 3000, [x, seeds], [False, True])[0]
    for n in (0, 1, 1499, 2999):
        np.testing.assert_array_equal(made[n], run(call, [x[n], seeds])[0])


def test_threads(lib: llgrad.Library) -> None:
    """Calls from several threads at once, of code with and without variables of its own."""
    x = np.random.default_rng(1).normal(size=(8, 2000))
    for name, wanted in (("waves", None), ("stateful", 2 * x)):
        f = load_foreign(lib[name])
        call, found = f.call("vjp", (0,), ((2000,),)), [[None] for _ in range(8)]
        seed = np.ones(call.taken[1][0])
        expected = wanted if wanted is not None else [run(call, [row, seed])[0] for row in x]

        def work(n: int, found: Any = found, call: Any = call, seed: Any = seed) -> None:
            for _ in range(20):
                found[n] = run(call, [x[n], seed])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert f.stateful == (name == "stateful")
        for n in range(8):
            np.testing.assert_array_equal(found[n][0], expected[n])


def test_one_derivative_for_all(lib: llgrad.Library, source_file: Path) -> None:
    assert load_foreign(lib.waves) is load_foreign(source_file, "waves") is load_foreign([str(source_file)], "waves")
    assert load_foreign(lib.waves, out="like x", counts={"n": "x"}) is load_foreign(lib.waves)
    assert load_foreign(lib.waves) is not load_foreign(lib.waves, out="like x", counts=())


def test_functions_that_are_specialised_keep_to_it(lib: llgrad.Library) -> None:
    f, x = load_foreign(lib.waves.specialized(n=3)), np.array([0.3, 0.2, 0.7])
    found = jacobian(f, [x], (), (0,))
    np.testing.assert_allclose(found, jacobian(load_foreign(lib.waves), [x], (), (0,)), rtol=1e-14)
    with pytest.raises(ForeignShapeError, match="n of waves is 5, but it was specialised to 3"):
        f.call("vjp", (0,), ((5,),))
    with pytest.raises(ForeignSignatureError, match="specialised to one value of k"):
        load_foreign(lib.energy.specialized(k=1.0))


def test_rules_are_part_of_what_a_function_is(tmp_path: Path) -> None:
    path = tmp_path / "code.c"
    path.write_text(
        "__attribute__((noinline)) double g(double x) { return x * x; }\n"
        "double f(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += g(x[i]); return s; }\n"
        "double h(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += g(2 * x[i]); return s; }\n"
    )
    x, lib, other = np.array([1.0, 2.0]), llgrad.load(path), llgrad.load(path)
    before, late = load_foreign(lib.f), load_foreign(lib.h)
    assert jacobian(before, [x], (), (0,)).tolist() == [[2, 4]]
    llgrad.rule(lib.g, lambda x: 10 + 0 * x)
    assert jacobian(load_foreign(lib.f), [x], (), (0,)).tolist() == [[10, 10]]
    assert jacobian(before, [x], (), (0,)).tolist() == [[2, 4]]
    assert jacobian(load_foreign(other.f), [x], (), (0,)).tolist() == [[2, 4]]
    with pytest.raises(ArgumentError, match="register rules first"):  # it would be another function's
        jacobian(late, [x], (), (0,))
    assert jacobian(load_foreign(other.h), [x], (), (0,)).tolist() == [[8, 16]]


def test_parameters_of_other_languages(tmp_path: Path) -> None:
    """Pointers are passed; a slice is two values, and a reference is to something."""
    if not shutil.which("rustc"):
        pytest.skip("there is no rustc")
    path = tmp_path / "code.rs"
    path.write_text(
        "pub fn slice(x: &[f64]) -> f64 { x.iter().map(|v| v * v).sum() }\n"
        "pub fn three(x: &[f64; 3]) -> f64 { x[0] * x[1] * x[2] }\n"
        "pub unsafe extern \"C\" fn pointer(x: *const f64, n: usize) -> f64\n"
        "{ std::slice::from_raw_parts(x, n).iter().map(|v| v * v).sum() }\n"
    )
    lib, x = llgrad.load(path), np.array([0.5, 2.0, 3.0])
    with pytest.raises(ForeignSignatureError, match="x of slice is passed with its size"):
        load_foreign(lib.slice)
    assert jacobian(load_foreign(lib.pointer), [x], (), (0,)).tolist() == [[1, 4, 6]]
    assert jacobian(load_foreign(lib.three), [x], (), (0,)).tolist() == [[6, 1.5, 1]]
    with pytest.raises(ForeignShapeError, match="16 bytes, less than 24"):
        jacobian(load_foreign(lib.three), [x[:2]], (), (0,))


def test_failures_are_exceptions(tmp_path: Path) -> None:
    path = tmp_path / "throws.cpp"
    path.write_text('extern "C" double f(const double *x, int n) { if (x[0] > 1) throw 3; return x[0] * n; }')
    try:
        f = load_foreign(path, "f")
        call = f.call("primal", (), ((2,),))
    except llgrad.LlgradError as error:
        pytest.skip(f"no C++ here: {error.message}")
    assert run(call, [np.array([0.5, 0])]) == [1.0]
    with pytest.raises(llgrad.LlgradError, match="threw a C\\+\\+ exception"):
        run(call, [np.array([1.5, 0])])


def test_refused_derivatives_say_why(lib: llgrad.Library) -> None:
    with pytest.raises(llgrad.LlgradError, match="assembly"):
        load_foreign(lib.tangle).plan("vjp", (0,))
    with pytest.raises(ArgumentError, match="child process"):
        load_foreign(llgrad.load(lib.waves.library.paths, isolate=True).waves).plan("primal", ())


def test_bindings_import_no_other_framework() -> None:
    code = """
import sys, llgrad.foreign, llgrad.scipy
found = {m.split(".")[0] for m in sys.modules}
assert not found & {"torch", "jax", "tensorflow"}, found
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
