"""What the threads of a GPU share: memory that others reach while a thread runs, and barriers where they wait.

The analyses see the calls of one thread. Four answers make up for that, all on the safe side; races of the primal are
taken to be none: what a thread reads between two barriers, no other thread writes there.

    is_private   only the thread itself leads to this memory, its stack: nobody else adds to its shadow
    may_change   another thread may write, behind a barrier, what was read: it is kept, never read again
    waits        a call leads to a barrier, which the reverse sweep has, too
    orders       a function has barriers: its loops are not fused, since their sweeps stand on both sides of them
"""

from __future__ import annotations

from functools import cached_property

from llgrad.analysis.memory.mod_ref import Access, Memory
from llgrad.analysis.objects import MemoryObject
from llgrad.ir.values import Alloca, AnyValue, Call, Function, Instruction
from llgrad.models.gpu import BARRIERS, DEVICE


class DeviceThreads:
    """The answers for a program; all is private, and nothing changes, where it is not for a GPU."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.any = memory.root.attribute(DEVICE) is not None

    @cached_property
    def _waiting(self) -> frozenset[Function]:
        functions = self.memory.functions if self.any else ()
        found = {f for f in functions if any(map(is_barrier, f.instructions()))}
        work = list(found)
        while work:
            for call in self.memory.callers(work.pop()):
                f = call.block.function
                if f is not None and f not in found:
                    found.add(f)
                    work.append(f)
        return frozenset(found)

    def orders(self, f: Function) -> bool:
        """Do threads wait for others in a function, or in what it calls?"""
        return f in self._waiting

    def waits(self, call: Call) -> bool:
        """Does a call lead to a function in which threads wait for others?"""
        return bool(self._waiting) and any(f in self._waiting for f in self.memory.callees(call))

    def is_private(self, pointer: AnyValue) -> bool:
        """Does a pointer lead to nothing but memory of the thread's own?"""
        objects = self.memory.points_to(pointer)
        return not self.any or (bool(objects) and all(map(self._is_own, objects)))

    def _is_own(self, o: MemoryObject) -> bool:
        return isinstance(o.site, Alloca)

    @cached_property
    def _written(self) -> tuple[Access, ...]:
        touched = self.memory.summary(self.memory.root)
        return tuple(dict.fromkeys((*touched.writes, *touched.frees)))

    def may_change(self, reader: Instruction) -> bool:
        """May another thread write what an instruction has read, behind a barrier?"""
        if not self._waiting:
            return False
        read = [r for r in self.memory.reads(reader) if not r.objects or not all(map(self._is_own, r.objects))]
        return any(not w.objects or not r.objects or w.objects & r.objects for w in self._written for r in read)


def is_barrier(i: Instruction) -> bool:
    """Do threads wait for others here?"""
    f = i.called_function if isinstance(i, Call) else None
    return f is not None and f.name.startswith(BARRIERS)
