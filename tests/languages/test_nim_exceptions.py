"""Nim: exceptions that carry numbers, handlers and how they are left, closures and methods beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import differences

import llgrad
from llgrad.errors import ForeignError

HERE = Path(__file__).parent
X = np.array([0.3, 1.4, -0.2, 0.8, -1.7, 2.1, 3.4, 0.9])


def _agree(f: llgrad.ForeignFunction, *arguments: object) -> None:
    truth = differences(lambda v: f(*v), list(arguments))[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt=0)(*arguments), truth, rtol=1e-7, atol=1e-8)


@pytest.fixture(scope="module")
def exceptions() -> llgrad.Library:
    require("a.nim")
    return llgrad.load(HERE / "exceptions.nim")


@pytest.mark.parametrize("name", ["loops", "finallys", "rethrown", "nested", "kept", "several", "shapes", "mapped"])
def test_exceptions_with_numbers(exceptions: llgrad.Library, name: str) -> None:
    """The current exception lies in a variable, where there is none when a procedure is called from outside. Closures
    and methods are beside them."""
    _agree(exceptions[name], X, len(X))


@pytest.mark.parametrize("x", [0.3, 0.8, 1.4, -1.7])
def test_how_handlers_are_left(exceptions: llgrad.Library, x: float) -> None:
    _agree(exceptions.returns, x)
    _agree(exceptions.defers, x)


DEFECTS = """
proc root(v: float): float =
  if v < 0: raise newException(ValueError, "negative")
  v * v * v
proc bare(x: openArray[float]): float {.exportc.} =
  for v in x:
    try: result += root(v) * v
    except: result -= v * v
proc beyond(x: openArray[float], n: int): float {.exportc.} =
  for i in 0 ..< n:
    try: result += x[i] * x[i] * x[0]
    except IndexDefect: result += 2.0 * x[0]
"""


def test_defects_that_are_caught(tmp_path: Path) -> None:
    """It took minutes: the text of a defect was looked through for floats, each byte against each."""
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text(DEFECTS)
    lib = llgrad.load(path, flags=["-d:release"])
    _agree(lib.bare, X, 8)
    _agree(lib.beyond, X, 8, 11)


def test_a_handler_that_is_not_left(tmp_path: Path) -> None:
    """A procedure that other code calls while a handler runs would find its exception: it fails, later calls do not."""
    require("a.nim")
    require("a.c")
    (tmp_path / "a.nim").write_text(
        "proc through(x: float): float {.importc.}\n"
        "proc root*(x: float): float {.exportc.} =\n"
        '  if x < 0: raise newException(ValueError, "")\n  result = x * x\n'
        "proc f(x: float): float {.exportc.} =\n"
        "  try: result = root(x) + through(x)\n  except ValueError: result = through(-x)\n"
    )
    (tmp_path / "b.c").write_text("double root(double);\ndouble through(double x) { return 3 * root(x); }\n")
    lib = llgrad.load([tmp_path / "a.nim", tmp_path / "b.c"])
    derivative = llgrad.grad(lib.f)
    for _ in range(2):
        assert derivative(2.0) == pytest.approx(16)
        with pytest.raises(ForeignError) as caught:
            derivative(-2.0)
        assert "handler" in caught.value.cause
