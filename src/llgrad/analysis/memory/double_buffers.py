"""Pointers that a loop exchanges (`double *t = u; u = v; v = t`): double buffers, each iteration of which is apart.

In all iterations together both lead to the same memory; in one they do not, if they did not when the loop began.
"""

from __future__ import annotations

from itertools import combinations

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.memory.mod_ref import Access, Memory
from llgrad.ir.values import AnyValue, GetElementPtr, Phi


class Exchanged:
    """The answers for one function."""

    def __init__(self, memory: Memory, flow: Flow) -> None:
        self.memory, self.flow = memory, flow
        self._found: dict[frozenset[Phi], bool] = {}

    def apart(self, within: Loop, a: Access, b: Access) -> bool:
        """Do two accesses touch different memory for as long as the loop `within` runs, entered once?"""
        one, two = self._base(a.pointer), self._base(b.pointer)
        if not isinstance(one, Phi) or not isinstance(two, Phi) or one.block is not two.block:
            return False
        loop = self.flow.loop_of(one.block)
        if loop is not None and (loop is within or not loop.encloses(within)):
            return False
        return self._lead_apart(one, two)

    def _lead_apart(self, p: AnyValue, q: AnyValue) -> bool:
        """Do two pointers lead to different memory, wherever both are looked at together?"""
        x, y = self.memory.points_to(p), self.memory.points_to(q)
        if x and y and x.isdisjoint(y) and not self.memory.coincide(x, y):
            return True
        if not isinstance(p, Phi) or not isinstance(q, Phi) or p is q or p.block is not q.block:
            return False
        loop = self.flow.loop_of(p.block)
        if loop is None or loop.header is not p.block:
            ways = self.flow.predecessors[p.block]
            return all(self._lead_apart(p.incoming_from(b), q.incoming_from(b)) for b in ways)
        cycle = _cycle(loop, p)
        return q in cycle and self._begin_apart(loop, cycle)

    def _begin_apart(self, loop: Loop, cycle: frozenset[Phi]) -> bool:
        """Do the pointers that a loop exchanges lead to different memory when it is entered?"""
        if cycle not in self._found:
            assert loop.preheader is not None
            begin = [phi.incoming_from(loop.preheader) for phi in cycle]
            self._found[cycle] = all(self._lead_apart(p, q) for p, q in combinations(begin, 2))
        return self._found[cycle]

    def _base(self, pointer: AnyValue | None) -> AnyValue | None:
        """What an address counts from; of a pointer that moves on in a loop (`*p++`) where it began."""
        while True:
            match pointer:
                case GetElementPtr():
                    pointer = pointer.pointer
                case Phi() if (start := self._start(pointer)) is not None:
                    pointer = start
                case _:
                    return pointer

    def _start(self, phi: Phi) -> AnyValue | None:
        loop = self.flow.loop_of(phi.block)
        if loop is None or loop.header is not phi.block or loop.latch is None or loop.preheader is None:
            return None
        moved = phi.incoming_from(loop.latch)
        while isinstance(moved, GetElementPtr):
            moved = moved.pointer
        return phi.incoming_from(loop.preheader) if moved is phi else None


def _cycle(loop: Loop, phi: Phi) -> frozenset[Phi]:
    """The phis of a loop's header whose values `phi` takes one after the other, until its own again; none if others."""
    if loop.latch is None or loop.preheader is None:
        return frozenset()
    found, at = [phi], phi.incoming_from(loop.latch)
    while at is not phi:
        if not isinstance(at, Phi) or at.block is not loop.header or at in found:
            return frozenset()
        found.append(at)
        at = at.incoming_from(loop.latch)
    return frozenset(found)
