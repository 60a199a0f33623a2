"""Floats that are made of the digits of numbers which active floats were converted to (Schraudolph's exponential).

A conversion to an integer is a step function, and its derivative is zero. So is that of `2^k`, where `k` is made the
exponent of a float by its bits: it jumps as `k` does. But where a number reaches the fraction of a float, the steps are
as small as roundings, the float follows the number, and a derivative of zero would be wrong.

Numbers are followed through registers, calls and memory, each with the place of its last binary digit in the value
(lanes and members one after the other). What scatters digits (`xor`, shifts to the right: hash functions) is followed
no further. What a tag says is allowed: registers that have bits of floats at other times, and memory that is read as
floats and as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec.structs import replace

from llgrad.analysis.bits.byte_moves import extremum, moves
from llgrad.analysis.memory.cells import Spot, moved, overlap
from llgrad.analysis.memory.mod_ref import Access, Memory, MemoryObject
from llgrad.analysis.memory.reaching_stores import Reaching
from llgrad.analysis.solver import reach
from llgrad.analysis.types.kinds import Kinds
from llgrad.ir.types import DataLayout, FloatType, IntType, VectorType, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    ConstAggregate,
    ConstInt,
    InsertElement,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
)

Node = tuple[Argument | Instruction, int] | tuple[MemoryObject, Spot, int, Instruction]
"""What has the digits of a number, and at which bit the last of them is: of a value, or of the byte at some offset, and
what wrote it there."""
R = TypeVar("R", Load, Call)
FRACTION = {"half": 10, "bfloat": 7, "float": 23, "double": 52, "x86_fp80": 64, "fp128": 112, "ppc_fp128": 112}


def made_of_digits(
    memory: Memory, kinds: Kinds, layout: DataLayout,
    varied: Callable[[AnyValue], bool], useful: Callable[[Instruction | MemoryObject], bool],
) -> Instruction | None:  # fmt: skip
    """Where the digits of a number become a part of the fraction of a float that active outputs depend on; None:
    nowhere."""
    everything = (i for f in memory.functions for i in f.instructions())
    start: list[Node] = [(i, n * _bits(i)) for i in everything if _converts(i, varied) for n in range(_count(i))]
    if not start:
        return None
    digits = _Digits(memory, kinds, layout)
    ends = (end for node in reach(start, digits.after) if len(node) == 2 for end in digits.ends(*node))
    return next((i for i, what in ends if useful(what)), None)


def _converts(i: Instruction, varied: Callable[[AnyValue], bool]) -> bool:
    """Is it a number, rounded in some way from a float that depends on active inputs?"""
    if not isinstance(scalar(i.type), IntType) or _bits(i) < 8:
        return False
    match i:
        case Cast("fptosi" | "fptoui", value):
            return varied(value)
        case Call() if i.called_function is not None and i.called_function.is_declaration:
            return any(isinstance(scalar(a.type), FloatType) and varied(a) for a in i.arguments)
    return False


def _bits(v: AnyValue) -> int:
    """Of an integer, or of a lane of integers; 0 for anything else."""
    t = scalar(v.type)
    return t.bits if isinstance(t, IntType) else 0


def _count(v: AnyValue) -> int:
    """How many lanes a vector has; 1 of a scalar."""
    return v.type.count if isinstance(v.type, VectorType) else 1


def _constants(v: AnyValue) -> list[int]:
    """The numbers in a constant's lanes; none if it is not constant."""
    numbers = v.elements if isinstance(v, ConstAggregate) else (v,)
    values = [n.value for n in numbers if isinstance(n, ConstInt)]
    return values if len(values) == len(numbers) else []


def _zeros(v: AnyValue) -> int:
    """How many zeros a number ends in for sure, in all lanes."""
    return min(((n & -n).bit_length() - 1 for n in _constants(v) if n), default=0)


class _Digits:
    def __init__(self, memory: Memory, kinds: Kinds, layout: DataLayout) -> None:
        self.memory, self.kinds, self.layout = memory, kinds, layout
        self.reaching = Reaching(memory)
        self._writers: dict[tuple[Instruction, Access], frozenset[Instruction]] = {}

    def ends(self, v: Argument | Instruction, at: int) -> Iterator[tuple[Instruction, Instruction | MemoryObject]]:
        """What computes with a float that has the digits, or leaves one to the caller; with the value or memory that is
        to matter."""
        is_float = isinstance(scalar(v.type), FloatType)
        for user in v.users:
            if isinstance(user, Store):
                yield from ((user, o) for o in self._left(user, at))
            elif is_float and isinstance(v, Instruction) and self._computes(user):
                yield v, v

    def _left(self, store: Store, at: int) -> Iterator[MemoryObject]:
        """Memory of the caller's where digits that are stored are a part of what is a float, and no number by a tag."""
        is_float, over = isinstance(scalar(store.value.type), FloatType), self._is_over_float(store, at)
        for o, spot in (place for a in self.memory.writes(store) for place in a.places):
            here = moved(spot, at // 8)
            if o.kind in ("stack", "heap") or self._is_tagged(o, here):
                continue
            declared = isinstance(o.site, Argument) and self.kinds.is_declared_as_floats(o.site)
            if is_float or declared or (over and not self._has_floats(o, here)):
                yield o

    def _is_over_float(self, store: Store, at: int) -> bool:
        """Are the digits where kinds see a float, or a float and a number?"""
        for o, kind, size in self.kinds.access(store).leaves:
            fraction = FRACTION[kind.format.name] if kind.format else 8 * size
            if kind.name != "integer" and 8 * o <= at < 8 * o + fraction:
                return True
        return False

    def _has_floats(self, o: MemoryObject, spot: Spot) -> bool:
        """Are floats stored there?"""
        stores = (i for f in self.memory.functions for i in f.instructions() if isinstance(i, Store))
        floats = (i for i in stores if isinstance(scalar(i.value.type), FloatType))
        return any(_meets(a, o, spot) for i in floats for a in self.memory.writes(i))

    def _computes(self, user: Instruction) -> bool:
        match user:
            case Phi() | Select() | Store():
                return False
            case Return():
                assert user.block.function is not None
                return not self.memory.callers(user.block.function)
            case Call():
                return any(f.is_declaration for f in self.memory.functions_called(user).functions)
        return moves(user, self.layout) is None

    def _is_fraction(self, i: Instruction, at: int) -> bool:
        """Are the digits, at a bit of what `i` reads or casts, in the fraction of a float?"""
        t = scalar(i.type)
        return isinstance(t, FloatType) and at % (8 * self.layout.size(t)) < FRACTION[t.name]

    def after(self, node: Node) -> list[Node]:
        """Where the digits are in what uses them."""
        if len(node) == 2:
            return [n for user in dict.fromkeys(node[0].users) for n in self._used(*node, user)]
        return [*self._loaded(*node), *self._copied(*node)]

    def _loaded(self, o: MemoryObject, spot: Spot, bit: int, writer: Instruction) -> Iterator[Node]:
        tagged = self._is_tagged(o, spot)
        for i, read in self._met(Load, o, spot):
            if self._reaches(writer, i, read):
                where = _bits_at(read, o, spot, bit, 8 * self.layout.size(i.type))
                yield from ((i, at) for at in where if _bits(i) or (not tagged and self._is_fraction(i, at)))

    def _met(self, shape: type[R], o: MemoryObject, spot: Spot) -> list[tuple[R, Access]]:
        readers = self.memory.readers.get(o, ())
        return [(i, read) for i, read in readers if isinstance(i, shape) and _meets(read, o, spot)]

    def _is_tagged(self, o: MemoryObject, spot: Spot) -> bool:
        """Is memory read as a number, too?"""
        return any(_is_number(u) for i, _ in self._met(Load, o, spot) if _bits(i) for u in i.users)

    def _copied(self, o: MemoryObject, spot: Spot, bit: int, writer: Instruction) -> Iterator[Node]:
        for i, read in self._met(Call, o, spot):
            if self._reaches(writer, i, read):
                yield from (
                    (target, moved(to, moved(spot, -at)) if isinstance(at, int) else None, bit, i)
                    for source, at in read.places if source is o
                    for written in self.memory.writes(i) for target, to in written.places
                )  # fmt: skip

    def _reaches(self, writer: Instruction, reader: Instruction, read: Access) -> bool:
        """May what one instruction has written be there when the other reads it? Types say nothing here."""
        read = replace(read, tbaa=None)
        if (reader, read) not in self._writers:
            found = self.reaching.inside(self.reaching.writers(reader, read)[0], read)
            self._writers[reader, read] = frozenset(found)
        return writer in self._writers[reader, read]

    def _used(self, v: AnyValue, at: int, user: Instruction) -> Iterator[Node]:
        match user:
            case Phi() | Select():
                if not any(_is_tagged(other) for other in (*user.operands, *user.users)):
                    yield user, at
            case Return():
                assert user.block.function is not None
                yield from ((call, at) for call in self.memory.callers(user.block.function))
            case Store(value, _):
                if value is v:
                    places = (place for a in self.memory.writes(user) for place in a.places)
                    yield from ((o, moved(spot, at // 8), at % 8, user) for o, spot in places)
            case Call():
                yield from self._called(v, at, user)
            case _:
                yield from self._computed(v, at, user)

    def _computed(self, v: AnyValue, at: int, user: Instruction) -> Iterator[Node]:
        match user:
            case Binary() if _bits(v):
                if (place := _place(v, at, user)) is not None:
                    yield user, place
            case Cast("zext" | "sext" | "trunc"):
                lane, place = divmod(at, _bits(v))
                if place < _bits(user):
                    yield user, lane * _bits(user) + place
            case Cast("bitcast") if isinstance(scalar(user.type), FloatType) and _bits(v):
                if self._is_fraction(user, at):
                    yield user, at
            case InsertElement(vector, _, index) if not isinstance(index, ConstInt):
                lane = 8 * self.layout.size(scalar(user.type))
                yield from [(user, at)] if v is vector else [(user, at + lane * n) for n in range(_count(user))]
            case _ if (found := moves(user, self.layout)) is not None:
                windows = (w for w in found.windows if w.source is v and 8 * w.at <= at < 8 * (w.at + w.size))
                yield from ((user, at + 8 * (w.to - w.at)) for w in windows)

    def _called(self, v: AnyValue, at: int, call: Call) -> Iterator[Node]:
        if extremum(call):
            yield call, at
            return
        name = call.called_function.name if call.called_function is not None else ""
        if name.startswith("llvm.fshl.") and v is call.arguments[0]:
            by = _constants(call.arguments[2])
            if by and at % _bits(v) + min(by) < _bits(v):
                yield call, at + min(by)
        for f in self.memory.functions_called(call).functions:
            if not f.is_declaration:
                yield from ((f.arguments[n], at) for n, a in enumerate(call.arguments[: len(f.arguments)]) if a is v)


def _place(v: AnyValue, at: int, user: Binary) -> int | None:
    """Where digits at bit `at` of an operand are after integer arithmetic; None: nowhere, or scattered."""
    other = user.rhs if v is user.lhs else user.lhs
    lane, place = at - at % _bits(v), at % _bits(v)
    match user.opcode:
        case "add" | "sub" | "or":
            return at
        case "sdiv" | "udiv":
            return lane
        case "and":
            return lane + max(place, _zeros(other))
        case "mul":
            place += _zeros(other)
        case "shl":
            place += min(_constants(user.rhs), default=0) if v is user.lhs else 0
        case _:
            return None
    return lane + place if place < _bits(v) else None


def _is_tagged(v: AnyValue) -> bool:
    """Is it a float's bits as an integer? What merges with them, or becomes them, is a number or a float by a tag."""
    return isinstance(v, Cast) and v.opcode == "bitcast" and bool(_bits(v)) and not _bits(v.operands[0])


def _is_number(user: Instruction) -> bool:
    """Is what is used a number for sure, and no bits that are moved or put together?"""
    match user:
        case Phi() | Select() | Store() | Return() | Cast("zext" | "sext" | "trunc" | "bitcast"):
            return False
        case Binary("add" | "sub" | "or" | "and" | "mul" | "shl"):
            return False
        case Call():
            return not extremum(user)
    return True


def _meets(a: Access, o: MemoryObject, spot: Spot) -> bool:
    """May an access touch the byte at `spot` of `o`?"""
    return any(found is o and (a.size is None or overlap((spot, 1), (at, a.size))) for found, at in a.places)


def _bits_at(a: Access, o: MemoryObject, spot: Spot, bit: int, size: int) -> Iterator[int]:
    """At which bit of what is loaded, `size` bits, a bit of a byte may be; the lowest if that is not known."""
    for found, at in a.places:
        if found is o:
            on = 8 * (spot - at) if isinstance(at, int) and isinstance(spot, int) else 0
            yield on + bit if 0 <= on < size else bit


__all__ = ["made_of_digits"]
