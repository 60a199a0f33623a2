"""Nim: exceptions that nobody catches, other builds and other management of memory than those that are the default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import differences

import llgrad
from llgrad.errors import ForeignError, UnsupportedError

X = np.array([0.9, 1.3, 0.8, 1.1])
UNCAUGHT = """
proc root(v: float): float =
  if v < 0.0: raise newException(ValueError, "negative")
  v * v
proc roots(x: openArray[float]): float {.exportc.} =
  for v in x: result += root(v)
proc asserted(x: float): float {.exportc.} =
  doAssert x > 0, "not positive"
  x * x
"""
CAUGHT = UNCAUGHT + """
proc caught(x: openArray[float]): float {.exportc.} =
  for v in x:
    try: result += root(v) * v
    except ValueError: result += 3.0 * v
proc divided(x: openArray[float]; n: int): float {.exportc.} =
  try: result = roots(x) * float(12 div n)
  except KeyError: result = 0.0
"""


@pytest.fixture(scope="module", params=[UNCAUGHT, CAUGHT], ids=["no handler", "a handler"])
def raising(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    require("a.nim")
    path = tmp_path_factory.mktemp("nim") / "a.nim"
    path.write_text(request.param)
    return llgrad.load(path)


def test_what_nobody_catches_is_an_error(raising: llgrad.Library) -> None:
    """It was the zero that the procedure returned, and so was every later call of any procedure that tests the flag."""
    derivative = llgrad.grad(raising.roots, wrt="x")
    for call in (raising.roots, derivative):
        with pytest.raises(ForeignError, match="raised an exception") as caught:
            call(-X, 4)
        assert caught.value.cause == "ValueError: negative"
        np.testing.assert_allclose(derivative(X, 4), 2 * X)
        assert raising.roots(X, 4) == pytest.approx(X @ X)
    with pytest.raises(ForeignError) as caught:
        llgrad.grad(raising.asserted)(-1.0)
    assert caught.value.cause.startswith("AssertionDefect: ") and caught.value.cause.endswith("not positive")


def test_what_is_caught_inside(tmp_path: Path) -> None:
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text(CAUGHT)
    raising = llgrad.load(path)
    x = X * [1, -1, 1, -1]
    np.testing.assert_allclose(llgrad.grad(raising.caught, wrt="x")(x, 4), np.where(x < 0, 3, 3 * x**2))
    np.testing.assert_allclose(llgrad.grad(raising.divided, wrt="x")(X, 4, 3), 8 * X)
    with pytest.raises(ForeignError) as caught:
        raising.divided(x, 4, 3)
    assert caught.value.cause == "ValueError: negative"


BUILT = """
type Node = ref object
  value: float
  left, right: Node
type Shape = ref object of RootObj
type Circle = ref object of Shape
  radius: float
method area(s: Shape): float {.base.} = 0.0
method area(s: Circle): float = s.radius * s.radius
proc insert(n: Node, v: float): Node =
  if n == nil: return Node(value: v)
  if v < n.value: n.left = n.left.insert(v)
  else: n.right = n.right.insert(v)
  n
proc total(n: Node, k: float): float =
  if n == nil: 0.0 else: n.value * n.value * k + total(n.left, k * 0.5) + total(n.right, k * 0.7)
proc tree(x: openArray[float]): float {.exportc.} =
  var root: Node
  for v in x: root = root.insert(v)
  var shapes: seq[Shape]
  for v in x: shapes.add Circle(radius: v)
  let k = x[0]
  let scale = proc (v: float): float = v * k
  for s in shapes: result += s.area.scale
  result += total(root, 1.0)
proc element(x: openArray[float]; i: int): float {.exportc.} =
  let s = @x
  s[i] * s[i] * float(12 div i)
"""


@pytest.mark.parametrize("flags", [("-d:release",), ("--mm:orc",)], ids=" ".join)
def test_builds(flags: tuple[str, ...], tmp_path: Path) -> None:
    """orc's objects have longer headers, and a list of what cycles may begin with; other builds have checks."""
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text(BUILT)
    lib = llgrad.load(path, flags=list(flags))
    truth = differences(lambda v: lib.tree(*v), [X, 4])[0]
    np.testing.assert_allclose(llgrad.grad(lib.tree, wrt="x")(X, 4), truth, rtol=1e-8)
    if "-d:release" in flags:
        derivative = llgrad.grad(lib.element, wrt="x")
        np.testing.assert_allclose(derivative(X, 4, 2), 2 * X * 6 * (np.arange(4) == 2))
        for i, said in ((7, "IndexDefect: index 7 not in 0 .. 3"), (0, "DivByZeroDefect: division by zero")):
            with pytest.raises(ForeignError) as caught:
                derivative(X, 4, i)
            assert caught.value.cause == said


def test_collectors_that_look_for_pointers(tmp_path: Path) -> None:
    """They would release what only the tape holds."""
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text("proc f(x: float): float {.exportc.} = x * x\n")
    with pytest.raises(UnsupportedError, match="--mm:refc") as caught:
        llgrad.load(path, flags=["--mm:refc"])
    assert "--mm:arc" in caught.value.fix


def test_exceptions_that_jump_are_refused(tmp_path: Path) -> None:
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text("proc f(x: float): float {.exportc.} =\n  if x < 0: raise newException(ValueError, \"\")\n  x * x")
    with pytest.raises(UnsupportedError, match="setjmp") as caught:
        llgrad.load(path, flags=["--exceptions:setjmp"])
    assert "goto" in caught.value.fix
    assert llgrad.grad(llgrad.load(path, flags=["--exceptions:goto"]).f)(3.0) == 6


def test_procedures_of_another_module(tmp_path: Path) -> None:
    """nim declares in a unit only what is called there: what another module calls, and raises, is defined alone."""
    require("a.nim")
    (tmp_path / "other.nim").write_text(
        "type Pair* = object\n  a*, b*: float\nvar calls*: int = 0\n"
        "proc pair*(v: float): Pair =\n  calls += 1\n  if v < 0: raise newException(ValueError, \"below\")\n"
        "  Pair(a: v * v, b: v)\n"
    )
    path = tmp_path / "a.nim"
    path.write_text(
        "import other\nproc f*(x: ptr UncheckedArray[float], n: cint, o: ptr float) {.exportc, cdecl, dynlib.} =\n"
        "  for i in 0 ..< n: o[] += pair(x[i]).a * pair(x[i]).b\n"
        "proc g(x: float): float {.exportc.} =\n  try: result = pair(x).a\n  except ValueError: result = 3 * x\n"
    )
    lib = llgrad.load(path)
    derivative = llgrad.grad(lib.f, wrt="x", of="o")
    np.testing.assert_allclose(derivative(X, 4, np.zeros(1)), 3 * X**2)
    with pytest.raises(ForeignError) as caught:
        derivative(-X, 4, np.zeros(1))
    assert caught.value.cause == "ValueError: below"
    assert [llgrad.grad(lib.g)(v) for v in (2.0, -2.0)] == [4.0, 3.0]


SAID = """
import std/strutils
proc root(v: float): float =
  if v < 0: raise newException(ValueError, "negative " & $v)
  v * v * v
proc f(x: openArray[float]): float {.exportc.} =
  for v in x:
    try: result += root(v) * v
    except ValueError: result -= v * v
proc g(x: openArray[float]): float {.exportc.} =
  for v in x: result += parseFloat($v) * v
"""


def test_numbers_in_the_text_of_what_is_caught(tmp_path: Path) -> None:
    """Where nobody catches, the text goes to who asked for the derivative, not into the flag that is reset there."""
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text(SAID)
    lib = llgrad.load(path)
    x = X * [1, -1, 1, -1]
    np.testing.assert_allclose(llgrad.grad(lib.f, wrt="x")(x, 4), np.where(x < 0, -2 * x, 4 * x**3))
    with pytest.raises(UnsupportedError, match="read from text"):
        llgrad.grad(lib.g, wrt="x")(x, 4)
