"""What virtual functions see of their objects.

A pointer to a base class leads to objects of all its classes. A virtual function learns what lies in its object from
those who made the objects whose table leads to it, and from accesses to these by other pointers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.analysis.memory.points_to import virtual_call
from llgrad.analysis.solver import reach
from llgrad.analysis.types.regions import Region, find
from llgrad.ir.types import PointerType
from llgrad.ir.values import AnyValue, Argument, Call, Function

if TYPE_CHECKING:
    from llgrad.analysis.types.build import Builder, Cell

_LONGEST = 1 << 16  # bytes of an object that is accessed at unknown length


class Receivers:
    """The objects of virtual calls. `relate` is called once all calls are known."""

    def __init__(self, builder: Builder, memory: Memory) -> None:
        self._builder, self._memory = builder, memory
        self._received: dict[MemoryObject, dict[tuple[AnyValue, Argument, int], None]] = {}

    def add(self, call: Call, f: Function) -> AnyValue | None:
        """Of a virtual call the argument whose object says which function is called, if it is known who made those
        that lead to `f`: that is told of them. Else None."""
        places = self._memory.received(call, f)
        objects = [(o, at) for o, at in places if isinstance(at, int) and _maker(o) is not None]
        receiver = virtual_call(call, self._builder.layout)[0] if objects and len(objects) == len(places) else None
        for formal, actual in zip(f.arguments, call.arguments, strict=False):
            if actual is receiver and formal.type == actual.type:
                for o, at in objects:
                    self._received.setdefault(o, {})[actual, formal, at] = None
        return receiver

    def relate(self) -> None:
        """An object is one with what its maker sees, and what lies where others access it by other pointers. Where
        somebody accesses one at no known place, all that the pointer leads to must do."""
        cell, edge = self._builder.cell, self._builder.graph.edge
        makers = {o: cell(m) for o in self._received if (m := _maker(o)) is not None}
        everywhere = {o: self._builder.graph.region() for o in makers}
        received = [(o, *r) for o, receivers in self._received.items() for r in receivers]
        for o, _, formal, at in received:
            region, start = cell(formal)
            edge(makers[o][0], makers[o][1] + at, region, to=start)
            edge(everywhere[o], at, region, to=start)
        lost = self._relate_accesses(makers, everywhere) if everywhere else ()
        for _, actual, formal, _ in (r for r in received if r[0] in lost):
            self._builder.same(actual, formal)

    def _relate_accesses(
        self, makers: Mapping[MemoryObject, Cell], everywhere: Mapping[MemoryObject, Region]
    ) -> set[MemoryObject]:
        """`everywhere` learns of accesses to an object through other pointers than its maker's, and what is made of
        that. Which objects are accessed at places that are not known?"""
        cell, edge = self._builder.cell, self._builder.graph.edge
        below = {o: reach([region], _views) for o, (region, _) in makers.items()}
        lost, done = set[MemoryObject](), set[tuple[MemoryObject, int, Region, int, int]]()
        for i in [i for f in self._builder.functions for i in f.instructions()]:
            for access in (*self._memory.reads(i), *self._memory.writes(i)):
                if access.pointer is None or everywhere.keys().isdisjoint(access.objects):
                    continue
                (region, start), size = cell(access.pointer), _LONGEST if access.size is None else access.size
                for o in [o for o in everywhere if o in access.objects and region not in below[o]]:
                    spots = {at for other, at in access.places if other == o}
                    lost |= set() if all(isinstance(at, int) for at in spots) else {o}
                    for at in sorted(at for at in spots if isinstance(at, int)):
                        if (key := (o, at, region, start, size)) not in done:
                            done.add(key)
                            edge(everywhere[o], at, region, size=size, to=start)
        return lost


def _maker(o: MemoryObject) -> AnyValue | None:
    """The first pointer to an object, where one is known. (An allocator may store what it makes.)"""
    known = o.kind in ("stack", "heap", "global", "argument") and o.column is None
    return o.site if known and o.site is not None and isinstance(o.site.type, PointerType) else None


def _views(r: Region) -> list[Region]:
    """What was made of a pointer to a region, not of copies in memory."""
    return [find(e.child) for e in r.edges if find(e.parent) is r and not e.store]


__all__ = ["Receivers"]
