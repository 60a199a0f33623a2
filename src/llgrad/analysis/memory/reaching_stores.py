"""Which writes may reach a read: within the read's function by its blocks, between functions by memory object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from llgrad.analysis.memory.cells import Spot, difference, moved
from llgrad.analysis.memory.gep_lower_bound import is_behind
from llgrad.analysis.memory.mod_ref import Access, Memory, MemoryObject
from llgrad.analysis.objects import gep_offset, size_of
from llgrad.analysis.solver import reach
from llgrad.ir.types import I8
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Block,
    Call,
    ConstInt,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    Other,
    Store,
    Value,
)

Part = Access
"""What is accessed, by the places alone: one for all pointers that lead there."""


class Reaching:
    """The answers for one program. An access without a TBAA tag is reached by writes of any type.

    Where a function's own writes do not tell, the answer is the whole program's, for places and not readers: `shared`.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._writers: dict[Part, dict[Instruction, None]] = {}
        self._by_calls: dict[tuple[int, Part], bool] = {}
        self._asked: dict[tuple[Instruction, Access], tuple[list[Instruction], bool]] = {}
        self._found: dict[Part, list[Instruction]] = {}
        self._places: dict[AnyValue, tuple[AnyValue, int]] = {}
        for f in memory.functions:
            for i in f.instructions():
                for a in self._own_writes(i):
                    self._writers.setdefault(self._part(a), {})[i] = None

    def _own_writes(self, i: Instruction) -> Iterable[Access]:
        """What an instruction writes, and not functions that it calls, whose own instructions do."""
        if written_value(i) is not None:
            yield from self.memory.writes(i)
        elif isinstance(i, Call):
            for f in self.memory.callees(i):
                if f is None or f.is_declaration:
                    yield from self.memory.touches_of(i, f).writes

    def writers(self, reader: Instruction | None, access: Access) -> tuple[list[Instruction], bool]:
        """Stores and calls that may have written what is read, in the whole program where there is no reader; and
        whether it may be older than the root's call."""
        if reader is not None and (own := self._own_writers(reader, access))[1]:
            return own[0], False
        older = any(o.kind not in ("stack", "heap") and not o.is_constant for o in access.objects)
        return self._everywhere(access), older

    def shared(self, reader: Instruction | None, access: Access) -> Part | None:
        """What to ask for without a reader, where that has the same writers."""
        return None if reader is None or self._own_writers(reader, access)[1] else self._part(access)

    def _own_writers(self, reader: Instruction, access: Access) -> tuple[list[Instruction], bool]:
        """The writers in the reader's function, and whether there are no others."""
        if (reader, access) not in self._asked:
            found, complete = self._reaching(reader, access)
            self._asked[reader, access] = list(found), complete
        return self._asked[reader, access]

    def _everywhere(self, access: Access) -> list[Instruction]:
        """Stores, and calls of functions without a body, that may write what is read."""
        part = self._part(access)
        if part not in self._found:
            found = dict.fromkeys(i for a in self._nearby(part) for i in self._writers[a])
            self._found[part] = [i for i in found if not is_behind(i, part, self.memory)]
        return self._found[part]

    def _nearby(self, part: Part) -> Iterator[Part]:
        """Where what is written may be read: in an object that is read, or that is none of the program's own."""
        own = ("stack", "heap", "global")
        return (
            a for a in self._writers
            if (not a.objects.isdisjoint(part.objects) or any(o.kind not in own for o in a.objects))
            and self.meets(a, part)
        )  # fmt: skip

    def _part(self, access: Access) -> Part:
        return access if access.pointer is None else Part(None, access.size, access.places, access.tbaa)

    def meets(self, a: Access, b: Access) -> bool:
        """May two accesses touch the same byte, in any two calls of the functions they are in?"""
        return self.memory.may_meet(a, b)

    def _meets_here(self, a: Access, b: Access) -> bool:
        """The same in one call of the function that they are both in."""
        return self.meets(a, b) and self.memory.may_alias(a, b)

    def copied_from(self, copy: Call, access: Access) -> Sequence[Access]:
        """What `copy` reads to write it where `access` reads: the part of its source, if that is known."""
        whole, length, size = self.memory.reads(copy), copy.arguments[2], access.size
        ours, targets = access.places, self.memory.places(copy.arguments[0])
        both = frozenset(o for o, _ in ours), self.memory.points_to(copy.arguments[0])
        if size is None or self.memory.coincide(*both):
            return whole
        to: dict[MemoryObject, list[Spot]] = {}
        for o, t in targets:
            to.setdefault(o, []).append(t)
        apart = {
            s - t if isinstance(s, int) and isinstance(t, int) else difference(s, t)
            for o, s in ours for t in to.get(o, ())
        }  # fmt: skip
        most = length.value if isinstance(length, ConstInt) else None
        by = {_within(d, size, most) for d in apart if not _is_outside(d, size, most)}
        sources = self.memory.places(copy.arguments[1])
        if not apart or None in by or not sources:
            return whole
        room = {o: size_of(o, self.memory.module.layout) for o, _ in sources}
        places = frozenset((o, at) for o, s in sources for d in by if _exists(room[o], at := moved(s, d), size))
        return [Part(None, size, places)] if places else []

    def is_blank(self, copy: Call, at: Spot, size: int) -> bool:
        """Has nobody written anything but zeros to `size` bytes, `at` bytes on, of what a copy reads?"""
        places = frozenset((o, moved(s, at)) for o, s in self.memory.places(copy.arguments[1]))
        if not places or any(o.kind not in ("stack", "heap") or self.memory.escapes(o) for o, _ in places):
            return False
        found, older = self.writers(copy, Part(None, size, places))
        return not older and all(map(_clears, found))

    def inside(self, writers: Iterable[Instruction], read: Access) -> Iterator[Instruction]:
        """Instead of calls of functions with bodies: what may write in there, and anywhere else, where they do."""
        for i in dict.fromkeys(writers):
            if isinstance(i, Call) and not self.is_outside(i):
                places = {o for a in self.memory.writes(i) for o in a.objects}
                for w in self._everywhere(read):
                    if any(not places.isdisjoint(a.objects) for a in self.memory.writes(w)):
                        yield w
            else:
                yield i

    def is_outside(self, call: Call) -> bool:
        """May a call reach a function without a body?"""
        return any(f is None or f.is_declaration for f in self.memory.callees(call))

    def passed_on(self, v: Value) -> list[AnyValue] | None:
        """What an argument or a call's result is, in the program; None where it comes from outside."""
        match v:
            case Argument() if self.memory.owners[v] is not self.memory.root:
                return self.memory.passed(v)
            case Call() if not self.is_outside(v):
                return self.memory.passed(v)
        return None

    def _reaching(self, reader: Instruction, access: Access) -> tuple[dict[Instruction, None], bool]:
        """The writes of the reader's function that may reach it, and whether nothing older does."""
        found: dict[Instruction, None] = {}
        work: list[tuple[Block, int]] = [(reader.block, reader.block.instructions.index(reader))]
        seen: set[Block] = set()
        complete = True
        while work:
            block, end = work.pop()
            if self._walk(block.instructions[:end], access, found, block is reader.block and not seen):
                continue
            before = list(predecessors(block))
            complete &= bool(before) or self._starts_here(block, access)
            for p in before:
                if p not in seen:
                    seen.add(p)
                    work.append((p, len(p.instructions)))
        return found, complete

    def _walk(
        self, instructions: list[Instruction], access: Access, found: dict[Instruction, None], own: bool
    ) -> bool:
        """Collect the writes of a block, last first; True where one of them writes all that is read."""
        for i in reversed(instructions):
            if not isinstance(i, Call) and written_value(i) is None:
                continue
            if isinstance(i, Store) and self._covers(i, access, own):
                found[i] = None
                return True
            if self._writes_there(i, access):
                found[i] = None
        return False

    def _writes_there(self, i: Instruction, access: Access) -> bool:
        """Calls of one function write the same."""
        writes = self.memory.writes(i)
        if not isinstance(i, Call) or any(a.pointer is not None for a in writes):
            return any(self._meets_here(a, access) for a in writes) and not is_behind(i, access, self.memory)
        key = (id(writes), self._part(access))
        if key not in self._by_calls:
            self._by_calls[key] = any(self.meets(a, access) for a in writes)
        return self._by_calls[key]

    def _covers(self, store: Store, access: Access, own: bool) -> bool:
        """Is all that is read in what is stored? `own`: the two are in one run of one block."""
        written, read = self.memory.module.layout.size(store.value.type), access.size
        if access.pointer is None or read is None:
            return False
        if own and store.pointer is access.pointer:
            return written >= read
        base, at = self._place(store.pointer)
        other, start = self._place(access.pointer)
        stable = isinstance(base, Argument | Alloca | GlobalVariable)
        return stable and base is other and at <= start and start + read <= at + written

    def _place(self, pointer: AnyValue) -> tuple[AnyValue, int]:
        """A pointer as a base and constant bytes."""
        chain, base = list[tuple[AnyValue, int]](), pointer
        while isinstance(base, GetElementPtr) and base not in self._places:
            if (offset := gep_offset(base.source_type, base.indices, self.memory.module.layout)) is None:
                break
            chain.append((base, offset))
            base = base.pointer
        base, at = self._places.get(base, (base, 0))
        for gep, offset in reversed(chain):
            at += offset
            self._places[gep] = base, at
        return base, at

    def _starts_here(self, block: Block, access: Access) -> bool:
        """At the function's entry: does all that is read begin to exist in this call of it?"""
        f = block.function
        own = f is not None and all(o.kind == "stack" and o.function is f for o in access.objects)
        return own and f is not None and not self._recurs(f)

    def _recurs(self, f: Function) -> bool:
        callers = reach([f], lambda g: [c.block.function for c in self.memory.callers(g) if c.block.function])
        return any(c.block.function in callers and g is f for g in callers for c in self.memory.callers(g))


def written_value(i: Instruction) -> AnyValue | None:
    """What an instruction writes to memory, if that is one value."""
    match i:
        case Store(value, _):
            return value
        case Other(opcode="atomicrmw", operands=[_, value, *_]) | Other(opcode="cmpxchg", operands=[_, _, value, *_]):
            return value
    return None


def _exists(room: int | None, at: Spot, size: int) -> bool:
    """May an object of `room` bytes have these? A program that reads others is none."""
    return not isinstance(at, int) or room is None or 0 <= at <= room - size


def _clears(i: Instruction) -> bool:
    f = i.called_function if isinstance(i, Call) else None
    zeros = isinstance(i, Call) and len(i.arguments) > 1 and i.arguments[1] == ConstInt(I8, 0)
    return f is not None and f.name.startswith("llvm.memset.") and zeros


def _is_outside(apart: Spot, size: int, length: int | None) -> bool:
    """Do `size` bytes that are `apart` from the start of `length` bytes (None: any number) lie outside of them?"""
    if isinstance(apart, int):
        return apart <= -size or length is not None and apart >= length
    return apart is not None and length is not None and length <= apart[1] and apart[1] + size <= apart[0]


def _within(apart: Spot, size: int, length: int | None) -> Spot:
    """Where in them they lie, if that is one place."""
    if not isinstance(apart, tuple) or length is None:
        return apart
    stride, at = apart
    return at if length <= stride and at + size <= length else apart


def predecessors(block: Block) -> Iterator[Block]:
    """The blocks that end with a way to this one."""
    return (u.block for u in dict.fromkeys(block.users) if isinstance(u, Instruction) and u.is_terminator)


__all__ = ["Part", "Reaching", "predecessors", "written_value"]
