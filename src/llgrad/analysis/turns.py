"""Memory and values that are floats at one time and numbers at another: tagged unions, variants, buffers for anything.

Which of the two they are is decided by a tag that the program looks at, and not by where they lie. So what may be
either is *taken for a float*: its bits are moved, and its shadow with them. Where it is used as a number (integer
arithmetic, or a load of a part of it) nothing has a derivative if it is a number then, and llgrad knows none if it is
a float. That is tested as the program runs: in the forward mode a number has no tangent, in the reverse mode its use
hands back a mark for an adjoint, which no store of a float takes (`synthesis.support`).

Where nothing but floats can be there, the use is refused when it is compiled, and not left to the test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.activitygraph import changes_bits
from llgrad.analysis.memory import Access, Memory
from llgrad.analysis.moves import integer_moves
from llgrad.analysis.punned import Bits as PunnedBits
from llgrad.analysis.punned import Trial, only_steers
from llgrad.analysis.reused import is_copy
from llgrad.ir.types import FloatType, IntType, PointerType, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    ConstFloat,
    ConstInt,
    ExtractValue,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
    Unary,
    Value,
)


class Bits(PunnedBits, Protocol):
    """What is asked of an analysis of kinds."""

    def turning(self, v: AnyValue, /) -> FloatType | None: ...

    def float_around(self, pointer: AnyValue, size: int, /) -> tuple[int, FloatType] | None: ...


class Turns(Struct, frozen=True):
    """`integers` are never the bits of a float; `floats` may be, and are taken for such; `numbers` are instructions
    that take what may be a float for a number."""

    integers: frozenset[AnyValue] = frozenset()
    floats: frozenset[AnyValue] = frozenset()
    numbers: frozenset[AnyValue] = frozenset()


def turns(memory: Memory, kinds: Bits, constant: Collection[int] = ()) -> Turns:
    """What values of undecided kind are. `constant`: arguments of the root that have no derivative."""
    values: list[Value] = [v for f in memory.functions for v in (*f.arguments, *f.instructions())]
    undecided = [v for v in values if isinstance(scalar(v.type), IntType) and kinds.is_undecided(v)]
    if not undecided:
        return Turns()
    steering = {v for v in undecided if only_steers(v, set())}
    given = frozenset(a for a in memory.root.arguments if a.index in constant)
    first = _Trial(memory, kinds, undecided, given)
    integers = first.integers() | steering
    doubtful = [v for v in undecided if v not in integers and isinstance(v.type, IntType)]
    floats = {v for v in doubtful if _is_moved_whole(v) and kinds.turning(v) is not None}
    turning = [v for v in doubtful if first.may_be_number(v, set())]
    numbers: set[AnyValue] = {v for v in turning if isinstance(v, Load) and first.is_number_load(v)}
    numbers |= {u for v in turning if v in floats for u in v.users if isinstance(u, Instruction) and _as_number(u, v)}
    last = first
    while numbers:
        last = _Trial(memory, kinds, undecided, given | numbers)
        integers = last.integers() | steering
        mixed = {u for u in numbers if not isinstance(u, Load) and _mixes(last, u, floats)}
        if not mixed:
            break
        numbers -= mixed
    floats -= integers | numbers
    innocent = last.innocent
    tested = {u for u in numbers if (u not in innocent if isinstance(u, Load) else _takes(u, floats))}
    return Turns(integers - tested, frozenset(floats), frozenset(tested))


def _is_moved_whole(v: Value) -> bool:
    """Are all bytes of a value as they are somewhere else?"""
    found = integer_moves(v)
    if found is None:
        return not (isinstance(v, Instruction) and changes_bits(v))
    whole = len(found.windows) == 1 and isinstance(v.type, IntType) and found.windows[0].size * 8 == v.type.bits
    return whole and not found.changed


def _takes(number: AnyValue, floats: set[Value]) -> bool:
    return isinstance(number, Instruction) and not floats.isdisjoint(number.operands)


def _mixes(trial: _Trial, number: AnyValue, floats: set[Value]) -> bool:
    """Is an operand of what takes floats for numbers made of the bits of a float, so that it is none itself?"""
    operands = number.operands if isinstance(number, Instruction) else ()
    return any(o not in floats and isinstance(o.type, IntType) and trial.is_float(o, set()) for o in operands)


class _Trial(Trial):
    """Which values are never floats, once all that `numbers` make are numbers."""

    kinds: Bits

    def __init__(
        self, memory: Memory, kinds: Bits, undecided: Iterable[Value], numbers: frozenset[AnyValue] = frozenset()
    ) -> None:
        self._tried = [v for v in undecided if not (kinds.may_be_pointer(v) and memory.points_to(v))]
        super().__init__(memory, kinds, [v for v in self._tried if isinstance(v, Load)])
        self.numbers = numbers

    def integers(self) -> frozenset[AnyValue]:
        loads = self.acquitted()
        return loads | {v for v in self._tried if not self.is_float(v, set())}

    def is_float(self, v: AnyValue, seen: set[AnyValue]) -> bool:
        return v not in self.numbers and super().is_float(v, seen)

    def is_number_load(self, load: Load) -> bool:
        """Is a part of a float's place loaded, or all of it and nothing but a number made of it?"""
        place = self.kinds.float_around(load.pointer, self.memory.module.layout.size(load.type))
        if place is None:
            return False
        if place[1].bits // 8 > self.memory.module.layout.size(load.type):
            return not any(self.tears(load, a) for a in self.memory.reads(load))
        return all(isinstance(u, Instruction) and changes_bits(u) for u in load.users)

    # --- what may be a number

    def may_be_number(self, v: AnyValue, seen: set[AnyValue], depth: int = 4) -> bool:
        """Is something that is no float, and not zero, seen to become this value?"""
        if v in seen:
            return False
        seen.add(v)
        if isinstance(v, ConstInt):
            return v.value != 0
        if isinstance(v, ConstFloat):  # LLVM writes small numbers as denormal doubles where it takes a word for one
            return 0 < v.bits < 1 << 52
        if not isinstance(v, Argument | Instruction) or isinstance(v.type, PointerType):
            return False
        if not self.is_float(v, set()):
            return True
        match v:
            case Load():
                return any(self._reads_number(v, a, seen, depth) for a in self.memory.reads(v))
            case Argument() | Call():
                sources = self.passed_on(v) or []
            case Phi() | Unary() | Cast("trunc" | "zext" | "sext" | "bitcast") | ExtractValue() | InsertValue():
                sources = v.operands
            case Select():
                sources = v.operands[1:]
            case Binary():
                sources = [o for o in v.operands if not isinstance(o, ConstInt)]
            case _:
                return False
        return any(self.may_be_number(o, seen, depth) for o in sources)

    def _reads_number(self, reader: Instruction, access: Access, seen: set[AnyValue], depth: int) -> bool:
        found, _ = self.writers(reader, replace(access, tbaa=None))
        return any(self._writes_number(i, seen, depth, access) for i in found)

    def _writes_number(self, i: Instruction, seen: set[AnyValue], depth: int, access: Access) -> bool:
        match i:
            case Store(value, _):
                return self.may_be_number(value, seen, depth)
            case Call() if is_copy(i):
                sources = self.copied_from(i, access) if depth > 0 else ()
                return any(self._reads_number(i, a, seen, depth - 1) for a in sources)
            case Call():
                written = self.written_by_others(i, access) if depth > 0 else []
                return any(self._writes_number(w, seen, depth - 1, access) for w in written if isinstance(w, Store))
        return False


def _as_number(user: Instruction, v: AnyValue) -> bool:
    """Does an instruction take an integer for a number, so that what it makes is one too?"""
    if changes_bits(user):
        return True
    if not isinstance(user.type, IntType) or isinstance(user, Phi | Select):
        return False
    found = integer_moves(user)
    if found is None:
        called = user.called_function if isinstance(user, Call) else None
        return called is not None and called.name.startswith("llvm.") and not called.name.startswith("llvm.expect")
    whole = user.type.bits == v.type.bits if isinstance(v.type, IntType) else False
    return not whole or bool(found.changed) or any(w.source is v and w.at != w.to for w in found.windows)


__all__ = ["Turns", "turns"]
