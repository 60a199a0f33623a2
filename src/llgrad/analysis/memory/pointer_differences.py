"""Pointers to which the distance of two others is added, in bytes: as far on in one object as these are apart in
another (an array that has grown, at the place of an element in the old one).

Two pointers of which the distance is taken lead into one object: what is as far on as different objects are apart is
no memory of the object. Where they lead to none in common, or to different ones that may be the same memory, it may be
anywhere in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from llgrad.analysis.memory.alias import may_be_one
from llgrad.analysis.memory.cells import Spot, difference, joined
from llgrad.analysis.memory.points_to_sets import BITS, FactSets, spot_of
from llgrad.analysis.objects import MemoryObject
from llgrad.analysis.solver import Propagation
from llgrad.ir.types import IntType
from llgrad.ir.values import AnyValue, Binary, Cast, GetElementPtr

_MOST = 8  # distances that are told apart


def ends(i: GetElementPtr) -> tuple[AnyValue, AnyValue] | None:
    """The two pointers whose distance is added, if that is what a `getelementptr` adds."""
    match i.source_type, list(i.indices):
        case IntType(8), [Binary("sub", Cast("ptrtoint", to), Cast("ptrtoint", start))]:
            return to, start
    return None


class Distance:
    """Inclusion constraints: what is at the first node is at the second, as far on as what is at the third from what
    is at the fourth."""

    def __init__(
        self, flow: Propagation, sets: FactSets, objects: Sequence[MemoryObject], nodes: Sequence[int]
    ) -> None:
        self._flow, self._sets, self._objects = flow, sets, objects
        self._base, self._target, *self._ends = nodes
        self._spots: list[Spot] = []
        flow.watch(self._base, self._move)
        for node in self._ends:
            flow.watch(node, self._compare)

    def settle(self) -> bool:
        """Nothing more comes to the two pointers but by this: is it only now that it may be any distance?"""
        if self._spots or not self._flow.facts(self._base):
            return False
        self._add(None)
        return True

    def _move(self, facts: set[int]) -> None:
        for spot in self._spots:
            self._flow.add(self._target, {self._sets.shift(f, spot) for f in facts})

    def _compare(self, _: set[int]) -> None:
        if None in self._spots:
            return
        to, start = (self._by_object(self._flow.facts(node)) for node in self._ends)
        kinds, others = ({self._objects[o].kind for o in found} for found in (to, start))
        if len(to.keys() | start.keys()) > 1 and any(may_be_one(a, b) for a in kinds for b in others):
            self._add(None)
            return
        for o in to.keys() & start.keys():
            for a in to[o]:
                for b in start[o]:
                    self._add(difference(a, b))

    def _by_object(self, facts: set[int]) -> dict[int, list[Spot]]:
        found: dict[int, list[Spot]] = {}
        for fact in facts:
            found.setdefault(fact >> BITS, []).append(spot_of(fact))
        return found

    def _add(self, spot: Spot) -> None:
        if None in self._spots or spot in self._spots:
            return
        if len(self._spots) >= _MOST:
            spot = joined([*self._spots, spot])
            self._spots.clear()
        self._spots = [spot] if spot is None else [*self._spots, spot]
        self._flow.add(self._target, {self._sets.shift(f, spot) for f in self._flow.facts(self._base)})
