"""What moves bits about, and what of a value is constant."""

from __future__ import annotations

import pytest

from llgrad.analysis.bits.byte_moves import moves
from llgrad.analysis.bits.constant_bytes import is_fixed
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import Instruction, Value

MODULE = """
%t = type { double, i64, i32 }
declare <6 x i32> @llvm.vector.interleave3.v6i32(<2 x i32>, <2 x i32>, <2 x i32>)
declare { <2 x i32>, <2 x i32>, <2 x i32> } @llvm.vector.deinterleave3.v6i32(<6 x i32>)

define %t @made(double %x, i32 %k) {
  %a = insertvalue %t undef, double %x, 0
  %b = insertvalue %t %a, i64 4, 1
  %c = insertvalue %t %b, i32 %k, 2
  ret %t %c
}

define i64 @f(<2 x i32> %u, <2 x i32> %v, <2 x i32> %w, i1 %yes, ptr %p) {
  %i = call <6 x i32> @llvm.vector.interleave3.v6i32(<2 x i32> %u, <2 x i32> %v, <2 x i32> %w)
  %d = call { <2 x i32>, <2 x i32>, <2 x i32> } @llvm.vector.deinterleave3.v6i32(<6 x i32> %i)
  %m = call %t @made(double 1.0, i32 3)
  %n = insertvalue %t %m, i64 7, 1
  %s = select i1 %yes, %t %m, %t %n
  %fs = freeze %t %s
  %l = load %t, ptr %p
  %q = select i1 %yes, %t %fs, %t %l
  %e = extractvalue %t %fs, 1
  %bits = load i32, ptr %p
  %low = zext i32 %bits to i64
  %pair = or disjoint i64 %low, 4575657221408423936
  %counted = add i64 %e, 4294967296
  ret i64 %e
}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return parse(MODULE)


def named(module: Module, name: str) -> Instruction:
    return next(i for i in module.function("f").instructions() if i.name == name)


def windows(module: Module, name: str) -> list[tuple[str, int, int, int]]:
    found = moves(named(module, name), module.layout)
    assert found is not None
    return [(w.source.name if isinstance(w.source, Value) else "", w.at, w.to, w.size) for w in found.windows]


def test_any_number_of_vectors_is_interleaved(module: Module) -> None:
    expected = [("u", 0, 0, 4), ("v", 0, 4, 4), ("w", 0, 8, 4), ("u", 4, 12, 4), ("v", 4, 16, 4), ("w", 4, 20, 4)]
    assert windows(module, "i") == expected


def test_and_taken_apart(module: Module) -> None:
    expected = [("i", 0, 0, 4), ("i", 4, 8, 4), ("i", 8, 16, 4), ("i", 12, 4, 4), ("i", 16, 12, 4), ("i", 20, 20, 4)]
    assert windows(module, "d") == expected


@pytest.mark.parametrize(
    ("name", "at", "size", "fixed"),
    [("m", 8, 8, True), ("m", 0, 8, False), ("m", 16, 4, False), ("fs", 8, 8, True), ("fs", 8, 12, False),
     ("q", 8, 8, False), ("e", 0, 8, True)],
)  # fmt: skip
def test_which_members_are_constants(module: Module, name: str, at: int, size: int, fixed: bool) -> None:
    """A constant argument is not one: the caller is not asked."""
    assert is_fixed(named(module, name), at, size, module.layout) is fixed


def test_a_constant_beside_bits_in_a_register(module: Module) -> None:
    """It is moved there; what is added to bits of which nothing is known is arithmetic."""
    assert windows(module, "pair") == [("low", 0, 0, 4), ("", 4, 4, 4)]
    pair, counted = (moves(named(module, n), module.layout) for n in ("pair", "counted"))
    assert pair is not None and counted is not None
    assert (pair.changed, counted.changed) == ((), ((4, 8),))
