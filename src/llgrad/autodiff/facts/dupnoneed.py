"""Primal memory of the root's arguments that is not wanted (dupnoneed), whose pointer may be null."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

from llgrad.analysis.memory.call_effects import behaviour
from llgrad.analysis.memory.cells import Spot
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.ir.types import FloatType
from llgrad.ir.values import Argument, Call, Instruction, Store
from llgrad.rules import library


class Unwanted:
    """What becomes of the `arguments` whose memory is not wanted."""

    def __init__(self, memory: Memory, arguments: Collection[Argument]) -> None:
        self.memory, self.arguments = memory, arguments

    @cached_property
    def unwritten(self) -> frozenset[MemoryObject]:
        """Memory of dupnoneed arguments that is only stored and copied to: nothing is written there."""
        return frozenset(o for o in self._objects if all(self._only_writes(i, o) for i in self._touching(o)))

    @cached_property
    def scratch(self) -> dict[Argument, int]:
        """Dupnoneed arguments of which this many bytes are used, at known places: scratch memory stands in for them."""
        found = {}
        for o in self._objects - self.unwritten:
            ends = [
                at + size if isinstance(at, int) and size is not None else None
                for i in self._touching(o) for p, at, size in self._extents(i) if p == o
            ]
            held = any(o in self.memory.contents(p) for p in self.memory.objects)
            if isinstance(o.site, Argument) and not held and not any(e is None or e > 4096 for e in ends):
                found[o.site] = max(e or 0 for e in ends)
        return found

    def _extents(self, i: Instruction) -> Iterator[tuple[MemoryObject, Spot, int | None]]:
        """Object, offset and size of what is touched. A function that has a rule writes one number a pointer."""
        if isinstance(i, Call) and i.called_function and (entry := library.lookup(i.called_function.name)):
            size = FloatType(entry.format).bits // 8
            places = [v for v, kind in zip(i.arguments, entry.rule.operands, strict=False) if kind == "pointer"]
            yield from ((o, at, size) for v in places for o, at in self.memory.places(v))
            return
        for a in (*self.memory.reads(i), *self.memory.writes(i), *self.memory.frees(i)):
            yield from ((o, at, a.size) for o, at in a.places)

    @property
    def _objects(self) -> frozenset[MemoryObject]:
        if not self.arguments or self.memory.callers(self.memory.root):
            return frozenset()
        return frozenset(o for o in self.memory.objects if o.kind == "argument" and o.site in self.arguments)

    def _touching(self, o: MemoryObject) -> list[Instruction]:
        """The instructions that touch an object themselves, not through calls of functions with bodies."""
        found = []
        for i in (i for f in self.memory.functions for i in f.instructions()):
            if isinstance(i, Call) and not any(f is None or f.is_declaration for f in self.memory.callees(i)):
                continue
            if any(o in a.objects for a in (*self.memory.reads(i), *self.memory.writes(i), *self.memory.frees(i))):
                found.append(i)
        return found

    def _only_writes(self, i: Instruction, o: MemoryObject) -> bool:
        return not any(o in a.objects for a in self.memory.reads(i)) and self._writes_there(i, {o})

    def may_drop(self, i: Instruction) -> bool:
        """Is this a store, a copy or a fill of unwritten memory alone?"""
        return bool(self.unwritten) and self._writes_there(i, self.unwritten)

    def _writes_there(self, i: Instruction, objects: Collection[MemoryObject]) -> bool:
        called = i.called_function if isinstance(i, Call) else None
        fills = (
            isinstance(i, Call) and called is not None and called.is_declaration
            and behaviour(i, called).kind in ("copy", "fill")
        )  # fmt: skip
        written = {o for a in self.memory.writes(i) for o in a.objects}
        return (isinstance(i, Store) or fills) and bool(written) and all(o in objects for o in written)
