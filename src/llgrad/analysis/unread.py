"""Bytes that are copied and that nobody ever looks at: padding, empty members, what was never set.

Nothing says what they hold, and nothing needs to: whatever it is, no derivative depends on it. Asked of memory that the
program allocates and that nothing outside knows of; whoever copies such bytes on is asked in turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.analysis.cells import Extent, Spot, difference, moved, overlap
from llgrad.analysis.memory import Memory, MemoryObject
from llgrad.analysis.reused import is_copy
from llgrad.ir.values import Call, Instruction, Load

Place = tuple[MemoryObject, Extent]
_MOST = 256


class Unread:
    """The answers for one program."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._readers: dict[MemoryObject, list[tuple[Instruction, Extent]]] = {}
        for f in memory.functions:
            for i in f.instructions():
                for o, extent in self._read(i):
                    self._readers.setdefault(o, []).append((i, extent))

    def after(self, copy: Call, at: Spot, size: int) -> bool:
        """Does nobody look at `size` bytes, `at` bytes on, of what a copy writes?"""
        places = [(o, (moved(spot, at), size)) for o, spot in self._memory.places(copy.arguments[0])]
        seen: set[Place] = set()
        while places:
            place = places.pop()
            if place in seen:
                continue
            seen.add(place)
            o, extent = place
            if o.kind not in ("stack", "heap") or self._memory.escapes(o) or len(seen) > _MOST:
                return False
            for i, read in self._readers.get(o, ()):
                if overlap(extent, read):
                    if not isinstance(i, Call) or not is_copy(i):
                        return False
                    places += self._copied(i, extent, read)
        return bool(seen)

    def _copied(self, i: Call, extent: Extent, read: Extent) -> list[Place]:
        """Where a copy takes them."""
        (spot, size), (start, _) = extent, read
        by = difference(spot, start)
        return [(o, (moved(to, by), size)) for o, to in self._memory.places(i.arguments[0])]

    def _read(self, i: Instruction) -> Iterator[Place]:
        if isinstance(i, Load):
            size = self._memory.module.layout.size(i.type)
            yield from ((o, (spot, size)) for o, spot in self._memory.places(i.pointer))
        elif isinstance(i, Call) and is_copy(i):
            for a in self._memory.reads(i):
                extent = 1 << 62 if a.size is None else a.size
                yield from ((o, (spot, extent)) for o, spot in self._memory.places(i.arguments[1]))
        else:
            yield from ((o, (None, 1)) for o in self._read_outside(i))

    def _read_outside(self, i: Instruction) -> Iterator[MemoryObject]:
        """What is read by code that is not in sight, or by instructions of other kinds."""
        if not isinstance(i, Call):
            yield from (o for a in self._memory.reads(i) for o in a.objects)
            return
        for f in self._memory.callees(i):
            if f is None or f.is_declaration:
                yield from (o for a in self._memory.touches_of(i, f).reads for o in a.objects)
        for n, attributes in enumerate(i.argument_attributes):
            if any(a.name == "byval" for a in attributes):
                yield from self._memory.points_to(i.arguments[n])


__all__ = ["Unread"]
