"""Which writes may reach a read: within the read's function by its blocks, between functions by memory object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from llgrad.analysis.memory.cells import Spot, difference, moved
from llgrad.analysis.memory.memory_ssa import without_pointer
from llgrad.analysis.memory.mod_ref import Access, Memory, MemoryObject
from llgrad.analysis.objects import size_of
from llgrad.analysis.solver import reach
from llgrad.ir.types import I8
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    ConstInt,
    Function,
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
        self._own: dict[tuple[Instruction, Access], tuple[Sequence[Instruction], bool]] = {}

    def writers(self, reader: Instruction | None, access: Access) -> tuple[Sequence[Instruction], bool]:
        """Stores and calls that may have written what is read, in the whole program where there is no reader; and
        whether it may be older than the root's call."""
        if reader is not None and (own := self._own_writers(reader, access))[1]:
            return own[0], False
        older = any(o.kind not in ("stack", "heap") and not o.is_constant for o in access.objects)
        return self.memory.ssa.written_anywhere(access), older

    def shared(self, reader: Instruction | None, access: Access) -> Part | None:
        """What to ask for without a reader, where that has the same writers."""
        return None if reader is None or self._own_writers(reader, access)[1] else without_pointer(access)

    def _own_writers(self, reader: Instruction, access: Access) -> tuple[Sequence[Instruction], bool]:
        """The writers in the reader's function, and whether there are no others."""
        if (reader, access) not in self._own:
            found = self.memory.ssa.clobbers(reader, access)
            complete = not found.live_on_entry or self._starts_here(reader.block.function, access)
            self._own[reader, access] = found.writers, complete
        return self._own[reader, access]

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
                for w in self.memory.ssa.written_anywhere(read):
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

    def _starts_here(self, f: Function | None, access: Access) -> bool:
        """Does all that is read begin to exist in this call of a function?"""
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


__all__ = ["Part", "Reaching", "written_value"]
