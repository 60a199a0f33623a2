"""Nim: elements behind a header of numbers, by indices that only the program knows; iterators that are closures."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import require
from core import differences

import llgrad

X = np.array([0.9, 1.3, -0.8, 1.1, 0.4, 1.7])
PROGRAM = """
import std/heapqueue
proc heap(x: openArray[float]): float {.exportc.} =
  var h = initHeapQueue[float]()
  for v in x: h.push(v * v * x[0])
  while h.len > 0: result = result * 0.5 + h.pop() * x[1]
type Stack[T] = object
  data: seq[T]
proc push[T](s: var Stack[T], v: T) = s.data.add v
proc pop[T](s: var Stack[T]): T =
  result = s.data[^1]
  s.data.setLen(s.data.len - 1)
proc stack(x: openArray[float]): float {.exportc.} =
  var s: Stack[float]
  for i, v in x:
    s.push v
    if i mod 2 == 1: s.push(s.pop * s.pop)
  while s.data.len > 0: result += s.pop * 1.5
proc squares(s: seq[float]): iterator (): float =
  return iterator (): float =
    for v in s: yield v * v
proc resumed(x: openArray[float]): float {.exportc.} =
  let next = squares(@x)
  while true:
    let v = next()
    if finished(next): break
    result = result * 0.3 + v
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    require("a.nim")
    path = tmp_path_factory.mktemp("nim") / "a.nim"
    path.write_text(PROGRAM)
    return llgrad.load(path)


@pytest.mark.parametrize("name", ["heap", "stack", "resumed"])
def test_containers(lib: llgrad.Library, name: str) -> None:
    f = lib[name]
    gradient = llgrad.grad(f, wrt="x")(X, 6)
    np.testing.assert_allclose(gradient, differences(lambda v: f(*v), [X, 6])[0], rtol=1e-7)
    _, slope = llgrad.jvp(f, wrt="x")(X, 6, tangents=X)
    assert slope == pytest.approx(gradient @ X, rel=1e-12)
