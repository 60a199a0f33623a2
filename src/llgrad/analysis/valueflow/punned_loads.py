"""Integers that are read from memory where floats are kept too: which of those loads never see the bits of a float.

A union, a pool, or two uses of one function make `kinds` find a float and an integer at one place; of numbers that are
only moved about it finds nothing. That matters only
where an integer load may read what a store wrote as a float. `integers` proves of loads that they do not: none of
the writes that may reach them writes bits of floats. Within the load's function writes are followed backwards to the
load, and a store to the very same place ends the way; what is older is asked for by memory object, over the whole
program. A load is guilty where one of these ways leads to a float: an integer that is counted up in memory is fed by
itself.

An integer that only steers the program, in comparisons and indices, is acquitted whatever it is.
Types of accesses (TBAA) acquit nothing: programs that read a float's bits through an `int *` are what is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from typing import Protocol, Self

from msgspec.structs import replace

from llgrad.analysis.activity.graph import changes_bits
from llgrad.analysis.bits.integer_values import INT_INTRINSICS
from llgrad.analysis.memory.call_effects import behaviour, is_copy
from llgrad.analysis.memory.mod_ref import Access, Memory
from llgrad.analysis.memory.reaching_stores import Reaching, written_value
from llgrad.analysis.solver import Ends
from llgrad.ir.types import FloatType, IntType, PointerType, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    ConstExpr,
    ConstFloat,
    ExtractValue,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Unary,
    Value,
)

_MOST_PARTS = 64
_NUMBERS = ("sitofp", "uitofp", "fptosi", "fptoui", "ptrtoint")


class Bits(Protocol):
    """What is asked of an analysis of kinds."""

    def may_hold_float(self, v: AnyValue, /) -> bool: ...

    def is_undecided(self, v: AnyValue, /) -> bool: ...

    def may_be_pointer(self, v: AnyValue, /) -> bool: ...

    def sees_float(self, load: Load, /) -> bool: ...

    def is_one_of_several(self, load: Load, /) -> bool: ...


Read = tuple[Instruction | None, Access]
"""What an instruction, or any, reads: the ways of bits lead on to what was written, and to what that is made of."""
Node = AnyValue | Read


class Trial(Reaching):
    """Which of some loads may read the bits of a float. What `numbers` make are numbers by decree."""

    def __init__(
        self, memory: Memory, kinds: Bits, suspects: Iterable[Load], numbers: frozenset[AnyValue] = frozenset()
    ) -> None:
        super().__init__(memory)
        self.kinds, self.numbers = kinds, numbers
        self.suspects = frozenset(suspects)
        self._parts: dict[Call, dict[Access, None]] = {}
        self._floats = Ends(self._sharing(self._float_before))
        self._addresses = Ends(self._sharing(self._address_before))

    def with_numbers(self, numbers: frozenset[AnyValue]) -> Self:
        """The same with others, all that was found of memory kept."""
        other = copy(self)
        other.numbers, other._floats = numbers, Ends(other._sharing(other._float_before))
        return other

    def _sharing(self, before: Callable[[Node], Collection[Node] | None]) -> Callable[[Node], Collection[Node] | None]:
        """The same ways, which all that read the same places take together."""

        def shared(node: Node) -> Collection[Node] | None:
            part = self.shared(*node) if isinstance(node, tuple) else None
            return before(node) if part is None else [(None, part)]

        return shared

    def acquitted(self) -> frozenset[Load]:
        """The loads that do not; of one that is a number by decree, it is what it reads that is asked for."""
        return frozenset(load for load in self.suspects if not self._reads_float(load))

    def _reads_float(self, load: Load) -> bool:
        if any(self.tears(load, a) for a in self.memory.reads(load)):
            return True
        return self.kinds.sees_float(load) and any(map(self._floats.reached, self.reads(load)))

    def is_float(self, v: AnyValue) -> bool:
        """May an SSA value carry the bits of a float?"""
        return self._floats.reached(v)

    def tears(self, load: Load, access: Access) -> bool:
        """May a part of an address be moved, and the rest beside it? Of whole ones, it is known what they point to."""
        narrow = isinstance(load.type, IntType) and load.type.bits < 64
        if not narrow or only_steers(load, set(), changes_bits):
            return False
        beside = self.kinds.may_be_pointer(load) and self.kinds.is_one_of_several(load)
        return beside and self._addresses.reached((load, replace(access, tbaa=None)))

    def reads(self, reader: Instruction) -> list[Node]:
        """What an instruction reads, as nodes."""
        return [(reader, replace(a, tbaa=None)) for a in self.memory.reads(reader)]

    # --- ways of floats

    def _float_before(self, node: Node) -> Collection[Node] | None:
        """What may make a float of what is read, or of a value; None: it may be one."""
        if isinstance(node, tuple):
            return self._written(*node)
        if node in self.suspects and isinstance(node, Load):
            if node in self.numbers:
                return ()
            if any(self.tears(node, a) for a in self.memory.reads(node)):
                return None
            return self.reads(node) if self.kinds.sees_float(node) else ()
        return self._made_of(node)

    def _written(self, reader: Instruction | None, access: Access) -> list[Node] | None:
        found, older = self.writers(reader, access)
        if older:
            return None
        made: list[Node] = []
        for i in self.inside(found, access):
            if (values := self._written_by(i, access)) is None:
                return None
            made += values
        return made

    def _written_by(self, i: Instruction, access: Access) -> Sequence[Node] | None:
        if (value := written_value(i)) is not None:
            return [value]
        if not isinstance(i, Call):
            return None
        if is_copy(i):
            return self.parts(i, access)
        if i.called_function is not None and i.called_function.name.startswith("llvm.memset."):
            return ()
        return None if any(f is None or not behaviour(i, f).inactive for f in self.memory.callees(i)) else ()

    def parts(self, copied: Call, access: Access) -> Sequence[Node]:
        """What a copy reads to write it where `access` reads; all that it reads, once that has been many things."""
        known = self._parts.setdefault(copied, {})
        found = self.copied_from(copied, access) if len(known) < _MOST_PARTS else self.memory.reads(copied)
        known.update(dict.fromkeys(found))
        return [(copied, replace(a, tbaa=None)) for a in found]

    def _made_of(self, v: AnyValue) -> Sequence[Node] | None:
        if not isinstance(v, Argument | Instruction) or isinstance(v.type, PointerType):
            zero = isinstance(v, ConstFloat) and not v.bits  # as a number, too: what clears memory says of no kind
            bits = isinstance(scalar(v.type), FloatType) and not zero or isinstance(v, ConstExpr) and not _is_address(v)
            return None if bits else ()
        if v in self.numbers:
            return ()
        if isinstance(scalar(v.type), FloatType):
            return None
        if not self.kinds.may_hold_float(v):
            return ()
        return self._sources(v) if isinstance(scalar(v.type), IntType) else None

    # --- ways of addresses

    def _address_before(self, node: Node) -> Collection[Node] | None:
        if not isinstance(node, tuple):
            return ()
        found, older = self.writers(*node)
        if older:
            return None
        made: list[Node] = []
        for i in self.inside(found, node[1]):
            value = written_value(i)
            if value is not None and (isinstance(scalar(value.type), PointerType) or self.memory.points_to(value)):
                return None
            made += self.parts(i, node[1]) if isinstance(i, Call) and is_copy(i) else ()
        return made

    def _number_made(self, call: Call) -> Sequence[AnyValue] | None:
        """The integers that a function known to compute without a derivative makes a number of; None: it is another."""
        f = call.called_function
        if f is None or not f.is_declaration:
            return None
        if f.name.startswith(INT_INTRINSICS):
            return [a for a in call.arguments if isinstance(scalar(a.type), IntType)]
        return () if behaviour(call, f).inactive and not f.name.startswith("llvm.") else None

    def _sources(self, v: Argument | Instruction) -> Sequence[Node] | None:
        """What `v` is made of, where its bits are; None: of what is not known."""
        match v:
            case Load() if self.kinds.is_undecided(v):
                return self.reads(v)
            case Call() if (made := self._number_made(v)) is not None:
                return made
            case ExtractValue(Call() as call) if (made := self._number_made(call)) is not None:
                return made
            case Argument() | Call():
                return self.passed_on(v)
            case Select():
                return v.operands[1:]
            case Compare():
                return ()
            case Cast(opcode) if opcode in _NUMBERS:
                return ()
            case Binary() | Cast() | Phi() | Unary():
                return v.operands
        return None


def only_steers(v: Value, seen: set[Value], ends: Callable[[Instruction], bool] = lambda u: False) -> bool:
    """Does an integer only decide where the program goes and what it addresses? Derivatives take no such way.

    `ends` says of what else may use it.
    """
    seen.add(v)
    return all(u in seen or (isinstance(u, Instruction) and ends(u)) or _is_steered(u, v, seen, ends) for u in v.users)


def _is_steered(user: Value, v: Value, seen: set[Value], ends: Callable[[Instruction], bool]) -> bool:
    match user:
        case Compare() | Alloca():
            return True
        case GetElementPtr(_, pointer, _):
            return pointer is not v
        case Cast("trunc" | "zext" | "sext") | Binary() | Phi() | Unary() | Select():
            return only_steers(user, seen, ends)
        case Call():
            return is_copy(user) and user.arguments[2] is v and v not in user.arguments[:2]
    return isinstance(user, Instruction) and user.is_terminator and not isinstance(user, Return)


def _is_address(c: ConstExpr) -> bool:
    return isinstance(c.type, PointerType) or c.opcode == "ptrtoint"


__all__ = ["Bits", "Trial", "only_steers"]
