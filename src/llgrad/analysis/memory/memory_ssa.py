"""Memory in SSA form: one chain of definitions a function, and one walker that finds what clobbers a location.

Memory is one variable. An instruction that may write or free is a `MemoryDef`; where definitions meet stands a
`MemoryPhi`; what a function finds when it is entered is its `LiveOnEntry`. An instruction that reads is a use of the
definition before it. An example, in which `%p` and `%q` point to different objects:

    entry:  store i32 1, ptr %p    ; 1 = MemoryDef(live on entry)
            br label %loop
    loop:                          ; 2 = MemoryPhi(entry: 1, loop: 3)
            %v = load i32, ptr %p  ; use of 2, clobbered by 1 alone: 3 is none of `%p`
            store i32 %v, ptr %q   ; 3 = MemoryDef(2)

*May*: a definition clobbers a location unless alias analysis tells the two apart, in any two iterations. A call is what
`mod_ref` says of it. *Must*: a store ends the walk if it certainly writes all bytes of the location. That is known of
constant distances from one base, which has one value throughout a call or has not been computed again in between.

Phis stand on iterated dominance frontiers (Cytron et al., "Efficiently computing static single assignment form and the
control dependence graph", 1991; the frontiers as Cooper, Harvey and Kennedy compute them). The walker remembers for
each location and definition which clobber is next, as LLVM's MemorySSA does (Novillo, "Memory SSA", 2007).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from llgrad.analysis.cfg.flow import Flow
from llgrad.analysis.memory.cells import gep_bytes
from llgrad.analysis.objects import MemoryObject
from llgrad.ir.values import Alloca, AnyValue, Block, Call, Function, GetElementPtr, Instruction, Store

if TYPE_CHECKING:
    from llgrad.analysis.memory.mod_ref import Access, Memory

_OWN = ("stack", "heap", "global")


class LiveOnEntry(Struct, eq=False):
    """What memory holds when a function is entered."""


class MemoryPhi(Struct, eq=False):
    """Memory where several definitions meet: one for each block that leads there, each once."""

    block: Block
    incoming: tuple[MemoryAccess, ...] = ()


class MemoryDef(Struct, eq=False):
    """Memory after an instruction that may write or free; `defining` is memory before it."""

    instruction: Instruction
    defining: MemoryAccess

    @property
    def block(self) -> Block:
        return self.instruction.block


MemoryAccess: TypeAlias = MemoryDef | MemoryPhi | LiveOnEntry


class Chain:
    """The definitions of one function; blocks that never run have none."""

    def __init__(self, flow: Flow, defines: Callable[[Instruction], bool]) -> None:
        self._flow = flow
        self._begin: dict[Block, MemoryAccess] = {}
        self._end: dict[Block, MemoryAccess] = {}
        self._defs: dict[Block, tuple[list[int], list[MemoryDef]]] = {}
        own = {b: [(n, i) for n, i in enumerate(b.instructions) if defines(i)] for b in flow.order}
        phis = {b: MemoryPhi(b) for b in _iterated_frontier(flow, [b for b, found in own.items() if found])}
        entry = LiveOnEntry()
        for block in flow.order:
            above = flow.idom[block]
            at = phis.get(block) or (entry if above is None else self._end[above])
            self._begin[block] = at
            positions, defs = self._defs[block] = [], []
            for n, i in own[block]:
                at = MemoryDef(i, at)
                positions.append(n)
                defs.append(at)
            self._end[block] = at
        for block, phi in phis.items():
            phi.incoming = tuple(dict.fromkeys(self._end[p] for p in flow.predecessors[block]))

    def __iter__(self) -> Iterator[MemoryDef]:
        return (d for _, defs in self._defs.values() for d in defs)

    def before(self, i: Instruction) -> MemoryAccess | None:
        """Memory as an instruction finds it; None where that never runs."""
        if i.block not in self._defs:
            return None
        positions, defs = self._defs[i.block]
        n = bisect_left(positions, self._flow.position(i))
        return defs[n - 1] if n else self._begin[i.block]


class Location(Struct, eq=False):
    """Bytes that are asked for: at a constant distance from `base`, if that is known. One for all equal accesses."""

    access: Access
    base: AnyValue | None
    at: int
    is_stable: bool
    nearest: dict[MemoryDef, MemoryAccess] = field(default_factory=dict)
    summaries: dict[int, bool] = field(default_factory=dict)


class Clobbers(Struct, frozen=True):
    """The instructions that may have written a location, and whether it may be as the function found it."""

    writers: tuple[Instruction, ...]
    live_on_entry: bool


class MemorySSA:
    """The chains of a program, made when first asked for, and the walker; see the module. `Memory.ssa` has it."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._chains: dict[Function, Chain] = {}
        self._locations: dict[Access, Location] = {}
        self._same: dict[object, Location] = {}
        self._asked: dict[tuple[Location, MemoryAccess, bool], Clobbers] = {}
        self._anywhere: dict[Access, tuple[Instruction, ...]] = {}
        self._written: dict[Access, dict[Instruction, None]] | None = None

    def chain(self, function: Function) -> Chain:
        if function not in self._chains:
            self._chains[function] = Chain(self._memory.flow(function), self._defines)
        return self._chains[function]

    def clobbers(self, reader: Instruction, access: Access) -> Clobbers:
        """What of the reader's function may have written what is read when `reader` is reached."""
        function = reader.block.function
        start = self.chain(function).before(reader) if function is not None else None
        if start is None:
            return Clobbers((), True)
        location = self._location(access)
        at = self._next(location, start)
        key = location, at, isinstance(at, MemoryDef) and at.block is reader.block
        if key not in self._asked:
            self._asked[key] = self._walk(*key)
        return self._asked[key]

    def written_anywhere(self, access: Access) -> tuple[Instruction, ...]:
        """Stores, and calls of functions without a body, that may write these places, in any function and order."""
        part = without_pointer(access)
        if part not in self._anywhere:
            found = dict.fromkeys(i for a in self._near(part) for i in self.written[a])
            self._anywhere[part] = tuple(i for i in found if not self._is_behind(i, part))
        return self._anywhere[part]

    @property
    def written(self) -> dict[Access, dict[Instruction, None]]:
        """What is written in the program, and by which instructions; calls are looked into where they have a body."""
        if self._written is None:
            self._written = {}
            for i in (i for f in self._memory.functions for i in f.instructions()):
                for a in self._own_writes(i):
                    self._written.setdefault(without_pointer(a), {})[i] = None
        return self._written

    def may_clobber(self, i: Instruction, access: Access) -> bool:
        """May an instruction write what is read in the same call of its function?"""
        return self._may_clobber(i, self._location(access))

    def must_clobber(self, i: Instruction, access: Access, *, at_once: bool) -> bool:
        """Does an instruction certainly write all that is read? `at_once`: nothing was computed again in between."""
        return self._must_clobber(i, self._location(access), at_once)

    # --- the walker

    def _walk(self, location: Location, start: MemoryAccess, at_once: bool) -> Clobbers:
        """Back from a clobber, a phi or the entry. `at_once`: it is a clobber in the block of what reads."""
        found: dict[Instruction, None] = {}
        at, first = start, start
        while at_once and isinstance(at, MemoryDef) and isinstance(first, MemoryDef) and at.block is first.block:
            found[at.instruction] = None
            if self._must_clobber(at.instruction, location, True):
                return Clobbers(tuple(found), False)
            at = self._next(location, at.defining)
        work, seen, entered = [at], {at}, False
        while work:
            at = work.pop()
            before: Iterable[MemoryAccess] = ()
            if isinstance(at, MemoryPhi):
                before = at.incoming
            elif isinstance(at, MemoryDef):
                found[at.instruction] = None
                before = () if self._must_clobber(at.instruction, location, False) else (at.defining,)
            else:
                entered = True
            fresh = [n for b in before if (n := self._next(location, b)) not in seen]
            seen.update(fresh)
            work += fresh
        return Clobbers(tuple(found), entered)

    def _next(self, location: Location, at: MemoryAccess) -> MemoryAccess:
        """The first on the way back, `at` itself among them, that may clobber a location, or is no definition."""
        passed: list[MemoryDef] = []
        while isinstance(at, MemoryDef):
            if (known := location.nearest.get(at)) is not None:
                at = known
                break
            passed.append(at)
            if self._may_clobber(at.instruction, location):
                break
            at = at.defining
        location.nearest.update(dict.fromkeys(passed, at))
        return at

    def _may_clobber(self, i: Instruction, location: Location) -> bool:
        """Calls of one function write the same."""
        writes, access = self._memory.writes(i), location.access
        if not isinstance(i, Call) or any(a.pointer is not None for a in writes):
            return any(self._memory.may_alias(a, access) for a in writes) and not self._is_behind(i, access)
        known = location.summaries.get(id(writes))
        if known is None:
            known = location.summaries[id(writes)] = any(self._memory.may_meet(a, access) for a in writes)
        return known

    def _must_clobber(self, i: Instruction, location: Location, at_once: bool) -> bool:
        size = location.access.size
        if not isinstance(i, Store) or location.base is None or size is None:
            return False
        base, at = self._memory.decompose(i.pointer)
        written = self._memory.module.layout.size(i.value.type)
        one = base is location.base and (at_once or location.is_stable)
        return one and at <= location.at and location.at + size <= at + written

    def _is_behind(self, write: Instruction, read: Access) -> bool:
        """Does a store write only behind all the bytes that are read: elements of an array, not the header before it?

        An index that only the program knows may lead to any element, and by its stride alone to the header, too. But
        `getelementptr nuw` adds without wrapping around: no less than the base and what is constant.
        """
        if not isinstance(write, Store) or not isinstance(write.pointer, GetElementPtr) or read.size is None:
            return False
        first = self._lower_bounds(write.pointer)
        if not first or self._memory.coincide(frozenset(first), read.objects):
            return False
        return all(isinstance(at, int) and at + read.size <= first[o] for o, at in read.places if o in first)

    def _lower_bounds(self, pointer: AnyValue) -> dict[MemoryObject, int]:
        """No byte before these is written through a pointer; empty where that is not known."""
        least = 0
        while isinstance(pointer, GetElementPtr) and "nuw" in pointer.flags:
            by = gep_bytes(pointer.source_type, pointer.indices, self._memory.module.layout)
            if by is None or not by[0] and by[1] < 0:
                return {}
            least += 0 if by[0] else by[1]
            pointer = pointer.pointer
        found: dict[MemoryObject, int] = {}
        for o, at in self._memory.places(pointer):
            if not isinstance(at, int):
                return {}
            found[o] = min(found.get(o, at + least), at + least)
        return found

    # --- what there is

    def _defines(self, i: Instruction) -> bool:
        touches = self._memory.touches(i)
        return bool(touches.writes or touches.frees)

    def _own_writes(self, i: Instruction) -> Iterator[Access]:
        """What an instruction writes, and not functions that it calls, whose own instructions do."""
        if not isinstance(i, Call):
            yield from self._memory.writes(i)
            return
        for f in self._memory.callees(i):
            if f is None or f.is_declaration:
                yield from self._memory.touches_of(i, f).writes

    def _near(self, part: Access) -> Iterator[Access]:
        """Where what is written may be read: in an object that is read, or that is none of the program's own."""
        return (
            a for a in self.written
            if (not a.objects.isdisjoint(part.objects) or any(o.kind not in _OWN for o in a.objects))
            and self._memory.may_meet(a, part)
        )  # fmt: skip

    def _location(self, access: Access) -> Location:
        """One for all accesses of the same bytes from the same base."""
        found = self._locations.get(access)
        if found is None:
            memory = self._memory
            base, at = (None, 0) if access.pointer is None else memory.decompose(access.pointer)
            key = base, at, access.size, access.places, access.tbaa
            if key not in self._same:
                stable = base is not None and (isinstance(base, Alloca) or memory.is_stable(base))
                self._same[key] = Location(access, base, at, stable)
            found = self._locations[access] = self._same[key]
        return found


def without_pointer(access: Access) -> Access:
    """What is accessed, by the places alone: one for all pointers that lead there."""
    return access if access.pointer is None else replace(access, pointer=None)


def _iterated_frontier(flow: Flow, blocks: Iterable[Block]) -> set[Block]:
    """Where definitions in these blocks meet others."""
    frontier: dict[Block, list[Block]] = {}
    for block in flow.order:
        before = flow.predecessors[block]
        for runner in before if len(before) > 1 else ():
            at: Block | None = runner
            while at is not None and at is not flow.idom[block]:
                frontier.setdefault(at, []).append(block)
                at = flow.idom[at]
    found, work = set[Block](), list(blocks)
    while work:
        fresh = [b for b in frontier.get(work.pop(), ()) if b not in found]
        found.update(fresh)
        work += fresh
    return found


__all__ = [
    "Chain", "Clobbers", "LiveOnEntry", "Location", "MemoryAccess", "MemoryDef", "MemoryPhi", "MemorySSA",
    "without_pointer",
]  # fmt: skip
