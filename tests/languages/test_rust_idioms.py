"""Rust as its users write it: forward and reverse mode against finite differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import both_modes

import llgrad
from llgrad.errors import ForeignError, UnsupportedError

HERE = Path(__file__).parent
X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])
WEIGHTS = np.linspace(0.3, 1.7, len(X))


@pytest.fixture(scope="module")
def lib() -> llgrad.Library:
    require("a.rs")
    return llgrad.load(HERE / "idioms.rs")


@pytest.mark.parametrize("name", ["cloned", "shown", "failures", "dropped", "solved", "expressions"])
def test_idioms(lib: llgrad.Library, name: str) -> None:
    both_modes(lib[name], X)


@pytest.mark.parametrize(("name", "said"), [("read_back", "read from text"), ("counted", "changed by what writes")])
def test_refused(lib: llgrad.Library, name: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        llgrad.grad(lib[name], wrt="x")(X)


@pytest.fixture(scope="module")
def panics() -> llgrad.Library:
    require("a.rs")
    return llgrad.load(HERE / "panics.rs", flags=["-Cpanic=unwind"])


@pytest.mark.parametrize("name", ["caught", "bounds"])
def test_panics(panics: llgrad.Library, name: str) -> None:
    both_modes(panics[name], X)


def test_payload(panics: llgrad.Library) -> None:
    """An active value goes through the library from a panic to who catches it: the derivative was zero."""
    with pytest.raises(UnsupportedError, match="an active value may be thrown"):
        llgrad.grad(panics.payload, wrt="x")(X)
    with pytest.raises(UnsupportedError, match="an active value may be thrown"):
        llgrad.jvp(panics.payload, wrt="x")(X, tangents=(WEIGHTS,))


def test_panics_that_nobody_catches(panics: llgrad.Library) -> None:
    """They ended Python; what was thrown before does no harm to what is thrown, or caught, next."""
    gradient = llgrad.grad(panics.escaped, wrt="x")
    for _ in range(2):
        for call in (panics.escaped, gradient):
            with pytest.raises(ForeignError, match="the code panicked"):
                call(X)
        np.testing.assert_allclose(gradient(X - 0.3), [X[1] - 0.3, X[0] - 0.3, 0, 0, 0, 0], rtol=1e-14)
        assert panics.caught(X) == pytest.approx(X[0] ** 2 + X[3] ** 2, rel=1e-14)


@pytest.mark.parametrize("flags", [["-Copt-level=0"], ["-C", "opt-level=s"]])
def test_levels(flags: list[str], tmp_path: Path) -> None:
    """At levels below 2, rustc calls what the standard library has compiled: what allocates was refused."""
    require("a.rs")
    source = tmp_path / "sorted.rs"
    source.write_text("""pub fn f(x: &[f64]) -> f64 {
    let v: Vec<(f64, usize)> = x.iter().enumerate().map(|(i, a)| (a * a, i)).collect();
    v.iter().rev().map(|(a, i)| a * *i as f64).sum()
}""")
    f = llgrad.load(source, flags=flags).f
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(X), 2 * X * np.arange(len(X)), rtol=1e-13)
