"""Bytes that are copied and that nobody ever looks at: padding, empty members, what was never set; or only as floats.

Nothing says what they hold, and nothing needs to: where nobody looks, no derivative depends on it, and what is only
ever looked at as floats, each in its place, is floats. Asked of memory that the program allocates and that nothing
outside knows of; whoever copies such bytes on is asked in turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.cells import Extent, Spot, difference, moved, overlap
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.ir.types import FloatType, scalar
from llgrad.ir.values import Alloca, Call, Instruction, Load

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
        return self._looks(copy, at, size) == set()

    def floats(self, copy: Call, at: Spot, size: int) -> FloatType | None:
        """The one format as which all who look at these bytes do so; each float begins a multiple of its size on."""
        match list(self._looks(copy, at, size) or ()):
            case [FloatType() as t] if size % self._memory.module.layout.size(t) == 0:
                return t
        return None

    def _looks(self, copy: Call, at: Spot, size: int) -> set[FloatType] | None:
        """The floats that are looked at; None if that is not all that may be done with these bytes."""
        places = [(o, (moved(spot, at), size)) for o, spot in self._memory.places(copy.arguments[0])]
        seen: set[Place] = set()
        found: set[FloatType] = set()
        while places:
            place = places.pop()
            if place in seen:
                continue
            seen.add(place)
            o, extent = place
            if o.kind not in ("stack", "heap") or self._memory.escapes(o) or len(seen) > _MOST:
                return None
            for i, read in self._readers.get(o, ()):
                if overlap(extent, read):
                    if (t := self._float(i, o, read[0], extent[0])) is not None:
                        found.add(t)
                    elif isinstance(i, Call) and is_copy(i):
                        places += self._copied(i, extent, read)
                    else:
                        return None
        return found if seen else None

    def _float(self, i: Instruction, o: MemoryObject, read: Spot, start: Spot) -> FloatType | None:
        """The float that `i` loads, if floats that begin where the bytes do are the only ones that it may meet."""
        t = scalar(i.type)
        if not isinstance(i, Load) or not isinstance(t, FloatType):
            return None
        size = t.bits // 8
        if size != self._memory.module.layout.size(t):
            return None
        if read is None and _is_aligned(i, size) and (o.kind == "heap" or _is_aligned(o.site, size)):
            read = 0  # or any other multiple
        by = difference(read, start)
        found = by is not None and all(n % size == 0 for n in (by if isinstance(by, tuple) else (by,)))
        return t if found else None

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


def _is_aligned(at: object, size: int) -> bool:
    return isinstance(at, (Load, Alloca)) and (at.align or 0) % size == 0 and bool(at.align)


__all__ = ["Unread"]
