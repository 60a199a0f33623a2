"""Floats that are made of integers which nobody follows: read as numbers from memory of active floats, then moved.

What kinds take for a number has no derivative. Where such a number is handed on whole, through registers and calls,
and becomes a float after all, it was that float's bits: its derivative would be lost without a word. (Not through
memory: what is a float or a number by a tag is stored at the same places.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from llgrad.analysis.bits.byte_moves import extremum, moves
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.analysis.memory.reused_memory import Bits
from llgrad.analysis.solver import reach
from llgrad.ir.types import DataLayout, FloatType, IntType, scalar
from llgrad.ir.values import AnyValue, Argument, Call, Cast, Instruction, Load, Phi, Select, Store

Node = tuple[Argument | Instruction, int]
"""What lies so many bytes into a value."""
Useful = Callable[[Instruction | MemoryObject], bool]


def lost(
    memory: Memory, kinds: Bits, layout: DataLayout, is_number: Callable[[Load], bool], useful: Useful
) -> Load | None:
    """A load of an integer that becomes a float again; None: there is none.

    `is_number(load)`: is it without derivative, but reads memory of active floats? `useful`: do active outputs depend
    on it?
    """
    ends: dict[int, list[Node]] = {}
    for node, size in _ends(memory, kinds, layout, useful):
        ends.setdefault(size, []).append(node)
    ways = _Ways(memory, layout)
    for size, start in ends.items():
        found = (v for v, _ in reach(start, partial(ways.back, size=size)) if isinstance(v, Load) and is_number(v))
        if (load := next(found, None)) is not None:
            return load
    return None


def _ends(memory: Memory, kinds: Bits, layout: DataLayout, useful: Useful) -> Iterator[tuple[Node, int]]:
    """Integers that are taken for floats of so many bytes."""
    for i in (i for f in memory.functions for i in f.instructions()):
        match i:
            case Cast("bitcast", Argument() | Instruction() as value) if isinstance(scalar(i.type), FloatType):
                if isinstance(value.type, IntType) and useful(i):
                    yield (value, 0), layout.size(scalar(i.type))
            case Store(Argument() | Instruction() as value, _) if isinstance(value.type, IntType):
                leaves, written = kinds.access(i).leaves, (o for a in memory.writes(i) for o in a.objects)
                if leaves and all(k.is_float for _, k, _ in leaves) and any(map(useful, written)):
                    yield from (((value, at), size) for at, _, size in leaves)


class _Ways:
    def __init__(self, memory: Memory, layout: DataLayout) -> None:
        self.memory, self.layout = memory, layout

    def back(self, node: Node, size: int) -> list[Node]:
        """What so many bytes, all those of a float, may come from."""
        v, at = node
        found: list[AnyValue] = []
        match v:
            case Call() if extremum(v):
                found = v.arguments
            case Argument() | Call():
                found = self.memory.passed(v)
            case Phi():
                found = v.operands
            case Select():
                found = v.operands[1:]
            case Instruction() if not isinstance(v, Load) and (made := moves(v, self.layout)) is not None:
                whole = [w for w in made.windows if w.to <= at and at + size <= w.to + w.size]
                return [(w.source, w.at + at - w.to) for w in whole if isinstance(w.source, Argument | Instruction)]
        return [(w, at) for w in found if isinstance(w, Argument | Instruction)]


__all__ = ["lost"]
