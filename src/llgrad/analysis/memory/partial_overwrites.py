"""Numbers that are stored over what is read as a float: over all of it, or over a part, so that it is neither.

`Overwriting` compares where integers are stored with where floats are read, object by object. That the two may share
bytes does not say that a float is ever read so: members of a union are used by turns, and a derivative has to look as
it runs. `torn` leaves out what says nothing: a store that may be over several floats, or over none in one of the
objects that it may write; and floats that are made of numbers, part by part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import gcd

from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.cells import Spot, gep_bytes, opposite
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.analysis.memory.reused_memory import Bits
from llgrad.ir.types import FloatType, scalar
from llgrad.ir.values import AnyValue, Argument, Call, Function, GetElementPtr, Instruction, Load, Store

Place = tuple[int, FloatType]
"""Where a float begins, from where an integer is stored, and its format."""
ALL, NOTHING = "all", "nothing"
_Reads = dict[MemoryObject, dict[tuple[Spot, FloatType], None]]


class Overwriting:
    """What some stores of integers do to floats: `over` may overwrite one; `torn` are those of which each may overwrite
    a part of a float, with that float."""

    def __init__(self, memory: Memory, kinds: Bits, functions: Iterable[Function], stores: Collection[Store]) -> None:
        self.memory, self.kinds, self.layout = memory, kinds, memory.module.layout
        objects = {o for i in stores for o in memory.points_to(i.pointer)}
        self._reads = self._floats_read(functions, objects) if objects else {}
        met = {i: found for i in stores if (found := self._met(i)) - {NOTHING}}
        self.over = frozenset(met)
        self.torn = self._torn({i: p for i, (p, *more) in met.items() if isinstance(p, tuple) and not more})

    def _met(self, i: Store) -> set[Place | str]:
        """In each object that a store may write: the floats of which it may overwrite a part, ALL or NOTHING."""
        size = self.layout.size(i.value.type)
        found: set[Place | str] = set()
        for o, spot in self._spots(i.pointer, set()):
            here = {p for at, t in self._reads.get(o, ()) for p in _overlaps(_plus(spot, opposite(at)), size, t)}
            found |= here or {NOTHING}
        return found

    def _torn(self, places: dict[Store, Place]) -> Mapping[Store, Place]:
        """Without floats that are made of numbers, part by part."""
        parts: dict[tuple[MemoryObject, FloatType], set[int]] = {}  # where in floats something is stored
        for i, (at, t) in places.items():
            for o in self.memory.points_to(i.pointer):
                parts.setdefault((o, t), set()).update(range(-at, -at + self.layout.size(i.value.type)))
        whole = {key for key, held in parts.items() if len(held) == key[1].bits // 8}
        return {
            i: (at, t)
            for i, (at, t) in places.items()
            if not any((o, t) in whole for o in self.memory.points_to(i.pointer))
        }

    def _floats_read(self, functions: Iterable[Function], objects: set[MemoryObject]) -> _Reads:
        reads: _Reads = {}
        for i in (i for f in functions for i in f.instructions()):
            pointer = _read_from(i)
            if pointer is not None and not objects.isdisjoint(self.memory.points_to(pointer)):
                floats = list(self._floats(i))
                for o, spot in self._spots(pointer, set()) if floats else ():
                    if not isinstance(i, Store) or o.kind not in ("stack", "heap") or self.memory.escapes(o):
                        for by, t in floats:
                            reads.setdefault(o, {})[_plus(spot, by), t] = None
        return reads

    def _floats(self, i: Instruction) -> Iterator[tuple[Spot, FloatType]]:
        """(where, from the start of what is read or written; format) of the floats that an instruction moves."""
        whole = i.value.type if isinstance(i, Store) else i.type
        t = scalar(whole)
        if isinstance(t, FloatType):
            size = self.layout.size(whole)
            yield from ((at, t) for at in range(0, size, t.bits // 8))
            return
        layout = self.kinds.access(i)
        for at, kind, _ in layout.leaves:
            if kind.is_float:
                yield (layout.stride, at) if layout.stride and at >= layout.head else at, kind.format

    def _spots(self, pointer: AnyValue, seen: set[AnyValue]) -> frozenset[tuple[MemoryObject, Spot]]:
        """Where a pointer points; by how far from the start of a word or half of one where no more is known."""
        spots = self.memory.places(pointer)
        if any(spot is None for _, spot in spots) and (apart := self._within_word(pointer, seen)) is not None:
            return frozenset((o, apart if spot is None else spot) for o, spot in spots)
        return spots

    def _within_word(self, pointer: AnyValue, seen: set[AnyValue]) -> Spot:
        if pointer in seen:
            return None
        seen.add(pointer)
        match pointer:
            case GetElementPtr(source, base, indices) if (by := gep_bytes(source, indices, self.layout)) is not None:
                stride = gcd(by[0], 8)
                places = [_plus(spot, (stride, by[1])) for _, spot in self._spots(base, seen)]
            case Argument() if self.memory.owners[pointer] is not self.memory.root:
                given = self.memory.passed(pointer)
                places = [spot for v in given for _, spot in self._spots(v, seen)]
            case _:
                return None
        return _in_common(places)


def _plus(a: Spot, b: Spot) -> Spot:
    """A sum of offsets, with remainders by strides of any size."""
    if a is None or b is None:
        return None
    (stride, at), (other, by) = (s if isinstance(s, tuple) else (0, s) for s in (a, b))
    step = gcd(stride, other)
    return (step, (at + by) % step) if step else at + by


def _in_common(spots: Collection[Spot]) -> Spot:
    """The remainder by eight, or by a part of that, that all have."""
    if not spots or any(spot is None for spot in spots):
        return None
    stride, first = 8, None
    for spot in spots:
        step, at = spot if isinstance(spot, tuple) else (0, spot or 0)
        first = at if first is None else first
        stride = gcd(stride, step, at - first)
    return stride, (first or 0) % stride


def _overlaps(apart: Spot, size: int, t: FloatType) -> list[Place | str]:
    """The float of which `size` bytes may overwrite a part, that are so far from where it is read.

    ALL where they may overwrite all of it, or several, or where nothing is known.
    """
    length = t.bits // 8
    stride, into = apart if isinstance(apart, tuple) else (0, apart)
    if into is None or 0 < stride < length:
        return [ALL]
    near = [n for n in ((into, into - stride) if stride else (into,)) if -size < n < length]
    return [ALL if n <= 0 and n + size >= length else (-n, t) for n in near]


def _read_from(i: Instruction) -> AnyValue | None:
    """What is read; what the caller reads was stored."""
    if isinstance(i, Load | Store):
        return i.pointer
    return i.arguments[1] if isinstance(i, Call) and is_copy(i) else None


__all__ = ["Overwriting", "Place"]
