"""What several threads run and reach: functions that a team calls (`transforms.canonical.teams`), and their memory.

The analyses see one call where each thread of a team makes one. Three answers make up for that, all on the safe side:

    is_private   only the thread that asks leads to this memory: its adjoints are added to by nobody else
    may_change   a thread of the team may write what was read: it is kept for the reverse sweep, never read again
    waits        threads wait for others in a function, so that its reverse waits for them, too
"""

from __future__ import annotations

from functools import cached_property

from llgrad.analysis.memory.mod_ref import Access, Memory
from llgrad.analysis.objects import MemoryObject
from llgrad.ir.values import AnyValue, Call, Function, Instruction
from llgrad.transforms.canonical.teams import MIRRORED, TEAM, is_fork


class Teams:
    """The answers for a program."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @cached_property
    def regions(self) -> list[Function]:
        """The functions whose calls teams make."""
        return [f for f in self.memory.functions if is_fork(f)]

    @cached_property
    def functions(self) -> frozenset[Function]:
        """The functions that run within regions."""
        found, work = set[Function](), list(self.regions)
        while work:
            if (f := work.pop()) not in found:
                found.add(f)
                work += [g for i in _calls(f) for g in self.memory.callees(i) if g is not None and not g.is_declaration]
        return frozenset(found)

    @cached_property
    def waiting(self) -> frozenset[Function]:
        """Those of them in which threads wait for others."""
        found = {f for f in self.functions if any(map(mirrored, _calls(f)))}
        while more := {f for f in self.functions - found if any(not found.isdisjoint(g) for g in self._calls_of(f))}:
            found |= more
        return frozenset(found)

    def _calls_of(self, f: Function) -> list[list[Function | None]]:
        return [self.memory.callees(i) for i in _calls(f)]

    def waits(self, call: Call) -> bool:
        """Does a call within a region lead to one in which threads wait for others?"""
        within = call.block.function in self.functions and bool(self.waiting)
        return within and not self.waiting.isdisjoint(self.memory.callees(call))

    @cached_property
    def _shared(self) -> frozenset[MemoryObject]:
        """What more than one thread may lead to."""
        given = {o for f in self.regions for a in f.arguments for o in self.memory.points_to(a)}
        others = {o for o in self.memory.objects if o.function not in self.functions or self.memory.escapes(o)}
        return self.memory.reachable(given | others)

    def is_private(self, pointer: AnyValue) -> bool:
        """Does a pointer within a region lead to memory of the thread's own alone?"""
        objects = self.memory.points_to(pointer)
        return bool(objects) and self._shared.isdisjoint(objects)

    @cached_property
    def _written(self) -> tuple[Access, ...]:
        """What threads may write, or release, that others may lead to."""
        touched = [self.memory.summary(f) for f in self.regions]
        found = dict.fromkeys(a for t in touched for a in (*t.writes, *t.frees))
        return tuple(a for a in found if not a.objects or not self._shared.isdisjoint(a.objects))

    def may_change(self, reader: Instruction) -> bool:
        """May a thread of a team write what an instruction within a region has read?"""
        if reader.block.function not in self.functions:
            return False
        reads = [r for r in self.memory.reads(reader) if not r.objects or not self._shared.isdisjoint(r.objects)]
        return any(self.memory.may_meet(w, r) for w in self._written for r in reads)


def mirrored(call: Call) -> str:
    """What a construct is called that the reverse sweep has, too; nothing for all others."""
    f = call.called_function
    name = f.name.removeprefix(TEAM) if f is not None and f.name.startswith(TEAM) else ""
    return name if name in MIRRORED else ""


def _calls(f: Function) -> list[Call]:
    return [i for i in f.instructions() if isinstance(i, Call)]
