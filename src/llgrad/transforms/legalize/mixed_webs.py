"""Integers of eight bytes that hold a double, a pointer or a number by turns: their webs, and the remedy.

Structs that are passed in registers, unions that are copied as `i64`, and what LLVM makes of both, move words in
registers whose type says nothing. In memory such words are copied with their shadows
(`transforms.legalize.mixed_words`), so these values become memory. That is done to what was refused, and to nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llgrad.analysis.bits.byte_moves import extremum
from llgrad.analysis.solver import reach
from llgrad.analysis.types import kinds as kinds_analysis
from llgrad.analysis.types import layouts
from llgrad.analysis.types.kinds import Kinds
from llgrad.ir.build import Builder, Names
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import I64, ArrayType, FloatType, IntType, PointerType, StructType, Type, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    Cast,
    ConstInt,
    ExtractElement,
    ExtractValue,
    Function,
    InsertValue,
    Instruction,
    Phi,
    Return,
    Select,
    Store,
    Unary,
    Value,
    put_instead,
)
from llgrad.ir.write import write
from llgrad.transforms.legalize.mixed_lanes import has_lanes, take_apart
from llgrad.transforms.legalize.mixed_to_memory import demote, is_move, known_calls

_MOST_BYTES = 64


def in_memory(text: str, root: str) -> str:
    """The text with words that are moved in integers as memory, as far as `root` reaches; the same where none are."""
    module = parse(text)
    function = module.function(root)
    kinds = kinds_analysis.analyse(module, function)
    values = [v for f in kinds.functions for v in (*f.arguments, *f.instructions()) if isinstance(v, Value)]
    if extrema := [v for v in values if extremum(v) and kinds.value(v) is layouts.CONFLICT]:
        for v in extrema:
            _choose(v)
        return in_memory(write(module), root)
    if vectors := [v for v in values if _takes_words_from_lanes(v)]:
        take_apart(module, [v for v in vectors if isinstance(v, Store)], vectors)
        return in_memory(write(module), root)
    mixed = [v for v in values if _is_mixed(kinds, v)]
    if not mixed:
        return text
    web = _Webs(module, kinds).around(mixed)
    if not any(isinstance(u, Instruction) and _moves_on(u, v) for v in web for u in v.users):
        return text
    words = {(v.type, o) for v in web for o, _ in kinds.leaves(v) if kinds.holds_word(v, o)}
    demote(module, web, words)
    return write(module)


def _choose(i: Value) -> None:
    """The smaller or larger of two integers is one of them, whatever it holds."""
    assert isinstance(i, Call) and i.block.function is not None
    f = i.block.function
    b = Builder(i.block, Names(v.name for v in (*f.arguments, *f.blocks, *f.instructions())))
    b.at = i.block.instructions.index(i)
    lhs, rhs = i.arguments
    chosen = b.icmp(extremum(i), lhs, rhs)
    put_instead(i, Select(chosen, lhs, rhs, i.name))


def _takes_words_from_lanes(v: Value) -> bool:
    match v:
        case Store(vector) if not v.flags:
            pass
        case ExtractElement(vector, ConstInt()):
            pass
        case _:
            return False
    return has_lanes(vector) and scalar(vector.type) == I64


def _is_mixed(kinds: Kinds, v: AnyValue) -> bool:
    """May an integer, or one in a struct, be a double at one time and something else at another?"""
    if isinstance(v.type, IntType):
        return v.type.bits == 64 and kinds.holds_word(v, 0)
    if not isinstance(v.type, StructType | ArrayType):
        return False
    return any(k is layouts.CONFLICT and kinds.holds_word(v, o) for o, k in kinds.leaves(v))


def _moves_on(u: Instruction, v: AnyValue) -> bool:
    return is_move(u) or isinstance(u, Return | Call) or (isinstance(u, Store) and u.value is v)


class _Webs:
    """What values are moved from and to."""

    def __init__(self, module: Module, kinds: Kinds) -> None:
        self.kinds, self.calls = kinds, known_calls(module)
        self.owner = {a: f for f in kinds.functions for a in f.arguments}

    def around(self, values: Sequence[AnyValue]) -> list[AnyValue]:
        """All that the values are moved from and to."""
        return list(reach([v for v in values if self._is_member(v)], self._beside))

    def _known(self, f: Function | None) -> list[Call] | None:
        """All calls of a function, if they are known."""
        return None if f is None else self.calls.get(f)

    def _is_member(self, v: AnyValue) -> bool:
        size = _size(v.type, self.kinds)
        if not size or size % 8 or size > _MOST_BYTES:
            return False
        if isinstance(v.type, IntType) and layouts.INTEGER in {k for _, k in self.kinds.leaves(v)}:
            return False  # a number, and be it that only some of its bytes say so
        if isinstance(v, Argument):
            return not isinstance(v.type, PointerType | FloatType) and self._known(self.owner.get(v)) is not None
        if isinstance(v, Call):
            return not isinstance(v.type, PointerType | FloatType) and self._known(v.called_function) is not None
        if isinstance(v, Cast):
            return is_move(v) and _size(v.value.type, self.kinds) == size
        return isinstance(v, Instruction) and is_move(v)

    def _beside(self, v: AnyValue) -> list[AnyValue]:
        onwards = [] if isinstance(v.type, PointerType | FloatType) else self._to(v)
        return [w for w in (*self._from(v), *onwards) if self._is_member(w)]

    def _from(self, v: AnyValue) -> list[AnyValue]:
        match v:
            case Phi() | InsertValue() | Cast() | Unary() | ExtractValue():
                return list(v.operands)
            case Select():
                return v.operands[1:]
            case Argument():
                return [c.arguments[v.index] for c in self._known(self.owner[v]) or ()]
            case Call():
                return v.called_function.returned() if v.called_function is not None else []
        return []

    def _to(self, v: AnyValue) -> Iterator[AnyValue]:
        assert isinstance(v, Value)
        for u in v.users:
            match u:
                case Return() if u.block.function is not None:
                    yield from self._known(u.block.function) or ()
                case Call() if self._known(u.called_function) is not None and u.called_function is not None:
                    yield from (u.called_function.arguments[n] for n, a in enumerate(u.arguments) if a is v)
                case Select() if v not in u.operands[1:]:
                    pass
                case Cast():
                    if not isinstance(u.type, PointerType | FloatType):
                        yield u
                case Phi() | Select() | Unary() | InsertValue() | ExtractValue():
                    yield u


def _size(t: Type, kinds: Kinds) -> int:
    scalar = isinstance(t, IntType | PointerType | StructType | ArrayType) or t == FloatType("double")
    return kinds.layout.size(t) if scalar else 0


__all__ = ["in_memory"]
