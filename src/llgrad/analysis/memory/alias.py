"""Whether two accesses may touch one byte, by the sets of places that they may touch: asked often, and of large sets.

Different objects are one memory at most by what kinds they are of, and so sets of objects are compared by those.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Protocol

from llgrad.analysis.memory.cells import Remainder, Spot, overlap
from llgrad.analysis.objects import MemoryObject

Place = tuple[MemoryObject, Spot]
"""An object and where in it: members of elements of arrays are told apart."""
Spots = tuple[list[int], list[Remainder | None]]
"""Offsets that are known, in order, and others."""


class Bytes(Protocol):
    """What is asked of an access."""

    @property
    def places(self) -> frozenset[Place]: ...
    @property
    def objects(self) -> frozenset[MemoryObject]: ...
    @property
    def size(self) -> int | None: ...


def may_be_one(kind: str, other: str) -> bool:
    """May different objects of these kinds be the same memory?"""
    kinds = {kind, other}
    if kinds <= {"stack", "heap", "global"}:
        return False
    return not kinds & {"stack", "heap"} or "argument" not in kinds


class Overlaps:
    """`lonely`: is an object never the memory of another? `distinct`: are those of arguments never each other's?"""

    def __init__(self, lonely: Callable[[MemoryObject], bool], distinct: bool) -> None:
        self._lonely, self._distinct = lonely, distinct
        self._kinds: dict[frozenset[MemoryObject], dict[str, MemoryObject | None]] = {}
        self._offsets: dict[frozenset[Place], dict[MemoryObject, Spots]] = {}
        self._asked: dict[tuple[frozenset[MemoryObject], frozenset[MemoryObject]], bool] = {}

    def meet(self, a: Bytes, b: Bytes) -> bool:
        """May two accesses touch the same byte?"""
        if not a.objects.isdisjoint(b.objects) and self._share(a, b):
            return True
        return self.coincide(a.objects, b.objects)

    def coincide(self, a: frozenset[MemoryObject], b: frozenset[MemoryObject]) -> bool:
        """May an object of one set and a different one of the other be the same memory?"""
        if (a, b) not in self._asked:
            self._asked[a, b] = self._find(a, b)
        return self._asked[a, b]

    def _share(self, a: Bytes, b: Bytes) -> bool:
        """The same byte of one object."""
        if a.size != 0 and b.size != 0 and not a.places.isdisjoint(b.places):
            return True
        ours, theirs = self._by_object(a.places), self._by_object(b.places)
        return any(_touch(ours[o], a.size, theirs[o], b.size) for o in a.objects & b.objects)

    def may_coincide(self, o: MemoryObject, p: MemoryObject) -> bool:
        """May two different objects be the same memory?"""
        return not self._lonely(o) and not self._lonely(p) and self._one(o.kind, p.kind)

    def _find(self, a: frozenset[MemoryObject], b: frozenset[MemoryObject]) -> bool:
        ours, theirs = self._by_kind(a), self._by_kind(b)
        return any(
            self._one(kind, other) and (kind != other or o is None or o != p)
            for kind, o in ours.items()
            for other, p in theirs.items()
        )

    def _one(self, kind: str, other: str) -> bool:
        return may_be_one(kind, other) and (kind != other or kind != "argument" or not self._distinct)

    def _by_kind(self, objects: frozenset[MemoryObject]) -> dict[str, MemoryObject | None]:
        """The kinds of objects that may be others, each with its object; None: there are several."""
        if objects not in self._kinds:
            found: dict[str, MemoryObject | None] = {}
            for o in objects:
                if not self._lonely(o):
                    found[o.kind] = o if o.kind not in found else None
            self._kinds[objects] = found
        return self._kinds[objects]

    def _by_object(self, places: frozenset[Place]) -> dict[MemoryObject, Spots]:
        if places not in self._offsets:
            found: dict[MemoryObject, Spots] = {}
            for o, at in places:
                exact, wide = found.setdefault(o, ([], []))
                if isinstance(at, int):
                    exact.append(at)
                else:
                    wide.append(at)
            for exact, _ in found.values():
                exact.sort()
            self._offsets[places] = found
        return self._offsets[places]


def _touch(ours: Spots, size: int | None, theirs: Spots, length: int | None) -> bool:
    """Do any of our bytes, `size` at each spot, and of theirs meet?"""
    (exact, wide), (others, strided) = ours, theirs
    if (wide and (others or strided)) or (strided and exact):
        if size is None or length is None or None in wide or None in strided:
            return True
        if any(overlap((at, size), (to, length)) for at in wide for to in strided):
            return True
        # what `overlap` says of a stride and an offset; many offsets leave one remainder
        for step, at in filter(None, wide):
            if any((d := (at - to) % step) < length or step - d < size for to in {x % step for x in others}):
                return True
        for step, to in filter(None, strided):
            if any((d := (at - to) % step) < length or step - d < size for at in {x % step for x in exact}):
                return True
    for at in exact:
        first = 0 if length is None else bisect_right(others, at - length)  # the first that ends behind `at`
        if first < len(others) and (size is None or others[first] < at + size):
            return True
    return False


__all__ = ["Overlaps", "Place"]
