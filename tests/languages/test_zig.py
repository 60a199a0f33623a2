"""Zig: its own mathematics, vectors, optionals, unions, lists, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compilers import require
from core import differences

import llgrad
from llgrad.errors import CompilerError
from llgrad.frontends.zig.zig import finished

HERE = Path(__file__).parent
X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])


@pytest.fixture(scope="module")
def lib() -> llgrad.Library:
    require("a.zig")
    return llgrad.load(HERE / "features.zig")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("elementary", [0.4]), ("vectors", [6, X]), ("optionals", [6, X]), ("unions", [0.7, 1.4]), ("sorted", [6, X]),
        ("operations", [6, X]), ("arenas", [6, X]), ("trees", [6, X]),
    ],
)  # fmt: skip
def test_idioms(lib: llgrad.Library, name: str, arguments: list[object]) -> None:
    function = lib[name]
    wrt = tuple(n for n, a in enumerate(arguments) if not isinstance(a, int))
    found = llgrad.grad(function, wrt=wrt)(*arguments)
    truth = differences(lambda v: function(*v), arguments)
    for n, ours in zip(wrt, found, strict=True):
        np.testing.assert_allclose(ours, truth[n], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("start", range(4))
def test_vectors_where_arrays_lie(tmp_path: Path, start: int) -> None:
    """A `@Vector` wants more alignment than the array of its elements has."""
    require("a.zig")
    source = tmp_path / "a.zig"
    source.write_text("export fn norm(x: *const @Vector(4, f64)) f64 { return @reduce(.Add, x.* * x.*); }\n")
    norm, x = llgrad.load(source).norm, np.arange(8.0)[start : start + 4]
    assert norm(x) == x @ x
    np.testing.assert_array_equal(llgrad.grad(norm)(x), 2 * x)


def test_single_precision(lib: llgrad.Library) -> None:
    x = 0.4
    expected = (1 - np.tanh(x) ** 2) * np.log1p(x) + np.tanh(x) / (1 + x) + 1.5 * np.sqrt(x)
    assert llgrad.grad(lib.single)(x) == pytest.approx(expected, rel=1e-5)


def test_outputs_and_signatures(lib: llgrad.Library) -> None:
    assert str(lib.smooth.signature) == "fn smooth(n: usize, x: [*]f64, k: f64) void"
    x = X.copy()
    _, dk = llgrad.vjp(lib.smooth, wrt="k", of="x")(6, x, 0.3, seed=np.ones(6))

    def at(v: Sequence[Any]) -> float:
        y = X.copy()
        lib.smooth(6, y, v[0])
        return float(y.sum())

    np.testing.assert_allclose(dk, differences(at, [0.3])[0], rtol=1e-8)


def test_the_compilers_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("a.zig")
    path = tmp_path / "bad.zig"
    path.write_text("export fn f(x: f64) f64 { return y; }\n")
    with pytest.raises(CompilerError, match="use of undeclared identifier 'y'") as caught:
        llgrad.load(path)
    assert "zig" in caught.value.cause
    monkeypatch.setenv("LLGRAD_ZIG", "/nonesuch/zig")
    with pytest.raises(CompilerError, match="no Zig compiler") as caught:
        llgrad.load(path)
    assert "ziglang" in caught.value.fix


def test_names_and_libm() -> None:
    text = (
        "@f = alias double (double), ptr @a.f\n\n"
        "define internal double @a.f(double %0) {\n  %2 = call fastcc double @math.tanh.tanh__func_3(double %0)\n"
        "  ret double %2\n}\n"
        "define internal fastcc double @math.tanh.tanh__func_3(double %0) {\n  ret double %0\n}\n"
        "define internal fastcc double @math.hypot.hypot__func_4(double %0) {\n  ret double %0\n}\n"
    )
    made = finished(text).decode()
    assert "define double @f(double %0)" in made and "alias" not in made
    assert "call double @tanh(double %0)" in made and "declare double @tanh(double)" in made
    assert "@hypot(" not in made  # an argument known at compile time is not among its parameters
