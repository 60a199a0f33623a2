"""OpenMP in Fortran: what is differentiated runs in one thread, the program in as many as ever."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compilers import require

import llgrad
from llgrad.llvm.libraries import Libraries

SOURCE = Path(__file__).with_name("openmp.f90")
X = np.array([0.7, 0.45, 1.3, 0.25, 0.9])


@pytest.fixture(scope="module")
def lib() -> llgrad.Library:
    require("a.f90")
    if not Libraries().address("__kmpc_fork_call"):
        pytest.skip("LLVM's run-time library of OpenMP is not installed")
    return llgrad.load(SOURCE, flags=["-fopenmp"])


@pytest.mark.parametrize(
    ("name", "before", "x", "after"),
    [
        ("shared_work", (5,), X, (np.zeros(5),)), ("heat", (5, 4), X, (0.1,)),
        ("arrays", (5,), X, ()), ("own_state", (5,), X, ()),
        ("collapsed", (3,), np.asfortranarray(np.random.default_rng(1).uniform(0, 1, (3, 3))), ()),
    ],
)  # fmt: skip
def test_gradient(
    lib: llgrad.Library, name: str, before: tuple[int, ...], x: np.ndarray, after: tuple[int, ...]
) -> None:
    s = np.zeros(1)

    def value(at: np.ndarray) -> float:
        lib[name](*before, at, *after, s)
        return float(s[0])

    wanted = np.zeros_like(x)
    for n in np.ndindex(x.shape):
        h = np.zeros_like(x)
        h[n] = 1e-5
        wanted[n] = (value(x + h) - value(x - h)) / 2e-5
    which = "a" if name == "collapsed" else "u0" if name == "heat" else "x"
    of = "e" if name == "heat" else "s"
    found = llgrad.grad(lib[name], wrt=which, of=of)(*before, x, *after, s)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.usefixtures("lib")
def test_the_process_ends_well() -> None:
    """The run-time library knows variables of what was loaded, and writes them at the end."""
    program = f"""
import numpy, llgrad
lib = llgrad.load({str(SOURCE)!r}, flags=["-fopenmp"])
lib.own_state(3, numpy.ones(3), numpy.zeros(1))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
