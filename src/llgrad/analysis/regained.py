"""Floats that are made of integers which nobody follows: read as numbers from memory of active floats, then moved.

What kinds take for a number has no derivative. Where such a number is handed on whole (through registers, calls,
memory) and becomes a float after all, it was that float's bits: its derivative would be lost without a word. So each
float that is made of an integer, or read where integers are stored, is followed back to where it may come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from llgrad.analysis.cells import Extent, Spot, difference, moved, overlap
from llgrad.analysis.memory import Memory, MemoryObject
from llgrad.analysis.moves import extremum, moves
from llgrad.analysis.reused import Bits, is_copy
from llgrad.analysis.solver import reach
from llgrad.ir.types import DataLayout, FloatType, IntType, StructType, Type, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    Cast,
    ConstInt,
    Function,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
)

_FAR = 4096  # bytes into an object, from where on all places are one
Place = tuple[MemoryObject, Spot]
Node = Argument | Instruction | Place
Useful = Callable[[Instruction | MemoryObject], bool]


def lost(
    memory: Memory, kinds: Bits, layout: DataLayout, is_number: Callable[[Load], bool], useful: Useful
) -> Load | None:
    """A load of an integer that becomes a float again; None: there is none.

    `is_number(load)`: is it without derivative, but reads memory of active floats? `useful`: do active outputs depend
    on it?
    """
    ways = _Ways(memory, layout)
    ends: dict[int, list[Node]] = {}
    for node, size in _ends(memory, kinds, ways, useful):
        ends.setdefault(size, []).append(node)
    for size, start in ends.items():
        found = (v for v in reach(start, partial(ways.back, size=size)) if isinstance(v, Load) and is_number(v))
        if (load := next(found, None)) is not None:
            return load
    return None


def _ends(memory: Memory, kinds: Bits, ways: _Ways, useful: Useful) -> Iterator[tuple[Node, int]]:
    """Integers, and places of memory, that are taken for floats of so many bytes."""
    for i in (i for f in memory.functions for i in f.instructions()):
        match i:
            case Cast("bitcast", Argument() | Instruction() as value) if isinstance(scalar(i.type), FloatType):
                if isinstance(value.type, IntType) and useful(i):
                    yield value, ways.layout.size(scalar(i.type))
            case Store(Argument() | Instruction() as value, _) if isinstance(value.type, IntType):
                leaves, written = kinds.access(i).leaves, (o for a in memory.writes(i) for o in a.objects)
                if leaves and all(k.is_float for _, k, _ in leaves) and any(map(useful, written)):
                    yield value, min(size for _, _, size in leaves)
            case Load(pointer) if isinstance(scalar(i.type), FloatType) and useful(i):
                size = ways.layout.size(scalar(i.type))
                yield from ((place, size) for place in memory.places(pointer) if ways.may_be_stored(place, size))


class _Ways:
    def __init__(self, memory: Memory, layout: DataLayout) -> None:
        self.memory, self.layout = memory, layout
        self.owner = {a: f for f in memory.functions for a in f.arguments}
        self.written: dict[MemoryObject, list[tuple[Extent, Argument | Instruction]]] = {}
        for i in (i for f in memory.functions for i in f.instructions()):
            match i:
                case Store(Argument() | Instruction() as value, pointer) if _has_integer(value.type):
                    self._write(pointer, layout.size(value.type), value)
                case Call(arguments=[target, _, length, *_]) if is_copy(i):
                    self._write(target, length.value if isinstance(length, ConstInt) else 1 << 40, i)

    def _write(self, pointer: AnyValue, size: int, by: Argument | Instruction) -> None:
        for o, spot in self.memory.places(pointer):
            self.written.setdefault(o, []).append(((spot, size), by))

    def may_be_stored(self, place: Place, size: int) -> bool:
        """Are integers stored just there, or copies made to there?"""
        o, spot = place
        return spot is not None and any(
            found[0] is not None and overlap(found, (spot, size)) for found, _ in self.written.get(o, ())
        )

    def back(self, node: Node, size: int) -> list[Node]:
        """What all bits of a float of so many bytes, in an integer or in memory, may come from."""
        found: list[AnyValue] = []
        match node:
            case (o, spot):
                return list(self._stored(o, spot, size))
            case Load():
                return list(self.memory.places(node.pointer))
            case Argument() if node in self.owner:
                calls = self.memory.callers(self.owner[node])
                found = [c.arguments[node.index] for c in calls if node.index < len(c.arguments)]
            case Call() if extremum(node):
                found = node.arguments
            case Call():
                found = [v for f in self.memory.functions_called(node).functions for v in _returned(f)]
            case Phi():
                found = node.operands
            case Select():
                found = node.operands[1:]
            case Instruction():
                made = moves(node, self.layout)
                found = [w.source for w in made.windows if w.size >= size] if made is not None else []
        return [v for v in found if isinstance(v, Argument | Instruction)]

    def _stored(self, o: MemoryObject, spot: Spot, size: int) -> Iterator[Node]:
        """The integers stored at a place, and the places from which copies were made to there. (Of unknown places kinds
        must do.)"""
        for (start, length), by in self.written.get(o, ()):
            if start is None or spot is None or not overlap((start, length), (spot, size)):
                continue
            if not isinstance(by, Call) or not is_copy(by):
                yield by
                continue
            for source, first in self.memory.places(by.arguments[1]):
                at = moved(first, difference(spot, start))
                yield source, None if isinstance(at, int) and abs(at) > _FAR else at


def _returned(f: Function) -> list[AnyValue]:
    ends = [b.terminator for b in f.blocks]
    return [end.value for end in ends if isinstance(end, Return) and end.value is not None]


def _has_integer(t: Type) -> bool:
    if isinstance(t, StructType):
        return any(map(_has_integer, t.fields or ()))
    return isinstance(scalar(t), IntType)


__all__ = ["lost"]
