"""Floats that are made again of numbers that were made of the bits of active floats: their derivative would be lost.

A number computed from a float's bits (a hash, an exponent) has no derivative, as it should. But one that becomes bits
of a float again, after it was shifted, masked, swapped or taken apart, may be that float. Such numbers are followed
through registers, memory (object by object) and calls, to where they are stored over floats or taken for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.analysis.objects import leads_nowhere
from llgrad.analysis.solver import reach
from llgrad.ir.types import FloatType, IntType, StructType, Type, VectorType, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    Cast,
    Compare,
    GetElementPtr,
    Instruction,
    Load,
    Return,
    Store,
)

Node = Argument | Instruction | MemoryObject
IsEnd = Callable[[AnyValue | MemoryObject, Instruction], bool]


def remade(
    memory: Memory, numbers: Iterable[Instruction], holds_floats: Callable[[Instruction], bool],
    matters: Callable[[Instruction | MemoryObject], bool] = lambda _: True, *, tables: bool = False,
) -> Instruction | None:  # fmt: skip
    """Where one of the numbers becomes a float again that `matters`, as itself or as what lies in some memory; None:
    nowhere. `holds_floats`: may what an access reads or writes hold floats? `tables`: what is looked up by a number is
    made of it (digits)."""

    def is_float(v: AnyValue | MemoryObject, u: Instruction) -> bool:
        if becomes_float(u):
            return matters(u)
        return _moves(u) and holds_floats(u) and any(matters(o) for a in memory.writes(u) for o in a.objects)

    return first_end(memory, numbers, is_float, tables)


def first_end(
    memory: Memory, numbers: Iterable[Instruction], is_end: IsEnd, tables: bool = False
) -> Instruction | None:
    """The first instruction for which `is_end(v, u)` of those that numbers are used by: `u` uses `v`, which is made of
    a number, or writes what memory held that has one."""
    found = _Ways(memory, is_end, tables)
    start: list[Node] = list(numbers)
    for _ in reach(start, found.after):
        if found.end is not None:
            return found.end
    return None


def becomes_float(u: Instruction) -> bool:
    """Are the bits of an integer taken for a float's?"""
    return isinstance(u, Cast) and u.opcode == "bitcast" and isinstance(scalar(u.type), FloatType)


def _moves(u: Instruction) -> bool:
    return isinstance(u, Store) or isinstance(u, Call) and is_copy(u)


class _Ways:
    def __init__(self, memory: Memory, is_end: IsEnd, tables: bool) -> None:
        self.memory, self.is_end, self.tables = memory, is_end, tables
        self.end: Instruction | None = None

    def after(self, node: Node) -> list[Node]:
        """What a number, or one of those in memory, becomes a part of."""
        if isinstance(node, MemoryObject):
            return [n for i, _ in self.memory.readers.get(node, ()) for n in self._read(node, i)]
        return [n for u in node.users if isinstance(u, Instruction) for n in self._used(node, u)]

    def _used(self, v: AnyValue, u: Instruction) -> Iterator[Node]:
        if not isinstance(u, Call) and not (isinstance(u, Store) and u.value is not v) and self.is_end(v, u):
            self.end = self.end or u
        match u:
            case Store(value, _):
                if value is v:
                    yield from self._written(u)
            case Return():
                yield from self.memory.handed(v, u)
            case Call():
                yield from self._called(v, u)
            case GetElementPtr() if v is not u.pointer and leads_nowhere(u.pointer):
                self.end = self.end or u  # bits kept as an address
            case GetElementPtr() if self.tables and v is not u.pointer:
                yield from (x for x in u.users if isinstance(x, Load) and _has_integer(x.type))
            case Load() | Compare():
                pass
            case _ if _has_integer(u.type):
                yield u

    def _called(self, v: AnyValue, call: Call) -> Iterator[Node]:
        yield from self.memory.handed(v, call)
        if all(f.is_declaration for f in self.memory.functions_called(call).functions):
            yield from (o for a in self.memory.writes(call) for o in a.objects)
            if _has_integer(call.type):
                yield call

    def _written(self, i: Instruction) -> Iterator[Node]:
        yield from (o for a in self.memory.writes(i) for o in a.objects)

    def _read(self, node: MemoryObject, i: Load | Call) -> Iterator[Node]:
        if isinstance(i, Load):
            if _has_integer(i.type):
                yield i
            return
        if self.is_end(node, i):
            self.end = self.end or i
        yield from self._written(i)


def _has_integer(t: Type) -> bool:
    if isinstance(t, StructType):
        return any(map(_has_integer, t.fields or ()))
    return isinstance(t.element if isinstance(t, VectorType) else t, IntType)


__all__ = ["becomes_float", "first_end", "remade"]
