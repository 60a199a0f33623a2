"""Memory and values that are floats at one time and numbers at another: tagged unions, variants, buffers for anything.

Which of the two they are is decided by a tag that the program looks at, and not by where they lie. So what may be
either is *taken for a float*: its bits are moved, and its shadow with them. Where it is used as a number (integer
arithmetic, or a load of a part of it) nothing has a derivative if it is a number then, and llgrad knows none if it is
a float. That is tested as the program runs: in the forward mode a number has no tangent, in the reverse mode its use
hands back a mark for an adjoint, which no store of a float takes (`autodiff.emit.helpers`).

Where nothing but floats can be there, the use is refused when it is compiled, and not left to the test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from llgrad.analysis.activity.graph import changes_bits
from llgrad.analysis.bits.byte_moves import integer_moves
from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.mod_ref import Access, Memory
from llgrad.analysis.memory.reaching_stores import written_value
from llgrad.analysis.solver import Ends
from llgrad.analysis.valueflow.punned_loads import Bits as PunnedBits
from llgrad.analysis.valueflow.punned_loads import Node, Trial, only_steers
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
    turning = [v for v in doubtful if first.may_be_number(v)]
    numbers: set[AnyValue] = {v for v in turning if isinstance(v, Load) and first.is_number_load(v)}
    numbers |= {u for v in turning if v in floats for u in v.users if isinstance(u, Instruction) and _as_number(u, v)}
    last = first
    while numbers:
        last = first.with_numbers(given | numbers)
        integers = last.integers() | steering
        mixed = {u for u in numbers if not isinstance(u, Load) and _mixes(last, u, floats)}
        if not mixed:
            break
        numbers -= mixed
    floats -= integers | numbers
    innocent = last.acquitted()
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
    return any(o not in floats and isinstance(o.type, IntType) and trial.is_float(o) for o in operands)


class _Trial(Trial):
    """Which values are never floats, once all that `numbers` make are numbers."""

    kinds: Bits

    def __init__(
        self, memory: Memory, kinds: Bits, undecided: Iterable[Value], numbers: frozenset[AnyValue] = frozenset()
    ) -> None:
        self._tried = [v for v in undecided if not (kinds.may_be_pointer(v) and memory.points_to(v))]
        super().__init__(memory, kinds, [v for v in self._tried if isinstance(v, Load)], numbers)
        self._numbers = Ends(self._sharing(self._number_before))

    def integers(self) -> frozenset[AnyValue]:
        return self.acquitted() | {v for v in self._tried if not self.is_float(v)}

    def is_number_load(self, load: Load) -> bool:
        """Is a part of a float's place loaded, or all of it and nothing but a number made of it?"""
        place = self.kinds.float_around(load.pointer, self.memory.module.layout.size(load.type))
        if place is None:
            return False
        if place[1].bits // 8 > self.memory.module.layout.size(load.type):
            return not any(self.tears(load, a) for a in self.memory.reads(load))
        return all(isinstance(u, Instruction) and changes_bits(u) for u in load.users)

    # --- what may be a number

    def may_be_number(self, v: AnyValue) -> bool:
        """Is something that is no float, and not zero, seen to become this value?"""
        return self._numbers.reached(v)

    def _number_before(self, node: Node) -> Collection[Node] | None:
        """What may make a number of what is read, or of a value; None: it is one."""
        match node:
            case (reader, access):
                return list(self._numbers_written(reader, access))
            case ConstInt(value=value):
                return None if value else ()
            case ConstFloat(bits=bits):  # LLVM writes small numbers as denormal doubles where it takes a word for one
                return None if 0 < bits < 1 << 52 else ()
            case Argument() | Instruction() if not isinstance(node.type, PointerType):
                return self._numbers_in(node) if self.is_float(node) else None
        return ()

    def _numbers_in(self, v: Argument | Instruction) -> Sequence[Node]:
        match v:
            case Load():
                return self.reads(v)
            case Argument() | Call():
                return self.passed_on(v) or ()
            case Phi() | Unary() | Cast("trunc" | "zext" | "sext" | "bitcast") | ExtractValue() | InsertValue():
                return v.operands
            case Select():
                return v.operands[1:]
            case Binary():
                return [o for o in v.operands if not isinstance(o, ConstInt)]
        return ()

    def _numbers_written(self, reader: Instruction | None, access: Access) -> Iterator[Node]:
        for i in self.inside(self.writers(reader, access)[0], access):
            if (value := written_value(i)) is not None:
                yield value
            elif isinstance(i, Call) and is_copy(i):
                yield from self.parts(i, access)


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
