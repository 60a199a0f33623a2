"""Words in the lanes of vectors (`transforms.legalize.mixed_words`): vectors that are loaded, shuffled and stored
become scalars.

LLVM moves two or more words at a time, in a vector of doubles or of pointers. Each lane moves in a register of its
own instead, so that it is a move like any other. What is computed with vectors stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from llgrad.ir.build import Builder, Names
from llgrad.ir.module import Module
from llgrad.ir.types import VectorType
from llgrad.ir.values import (
    AnyValue,
    Call,
    Cast,
    ConstInt,
    ExtractElement,
    Function,
    InsertElement,
    Instruction,
    Load,
    Phi,
    Select,
    ShuffleVector,
    Store,
    Unary,
    Undef,
    replace_uses,
)
from llgrad.transforms.legalize.mixed_to_memory import is_move

_MOST = 16


def lanes_of(v: AnyValue) -> list[AnyValue]:
    """The values whose lanes are in `v`, or whose lane it is."""
    match v:
        case ShuffleVector():
            return list(v.operands)
        case InsertElement(vector, value, _):
            return [vector, value]
        case ExtractElement(vector, _):
            return [vector]
        case Call() if v.called_function is not None and v.called_function.name.startswith("llvm.vector."):
            return [a for a in v.arguments if isinstance(a.type, VectorType)]
    return []


def has_lanes(v: AnyValue) -> bool:
    """Is it a vector that can be taken apart?"""
    t = v.type
    if not isinstance(t, VectorType) or t.scalable or t.count > _MOST:
        return False
    match v:
        case Load():
            return not v.flags
        case InsertElement(_, _, index):
            return isinstance(index, ConstInt)
        case Cast(_, value):
            same = isinstance(value.type, VectorType) and value.type.count == t.count
            return is_move(v) and same
        case Unary():
            return is_move(v)
        case Select(condition):
            return not isinstance(condition.type, VectorType)
    return isinstance(v, ShuffleVector | Phi)


def take_apart(module: Module, stores: Iterable[Store], moved: Iterable[AnyValue]) -> bool:
    """Store the lanes one by one, and make the elements that are moved lanes of their own. Was there any?"""
    lanes: dict[Function, _Lanes] = {}

    def of(i: Instruction) -> _Lanes:
        assert i.block.function is not None
        return lanes.setdefault(i.block.function, _Lanes(i.block.function, module))

    for v in moved:
        if isinstance(v, ExtractElement) and isinstance(v.index, ConstInt) and has_lanes(v.vector):
            replace_uses(v, of(v).lane(v.vector, v.index.value))
            v.drop()
    for store in stores:
        if has_lanes(store.value) and not store.flags:
            of(store).store(store)
    return bool(lanes)


class _Lanes:
    """Of one function: the lanes of its vectors, as they are made."""

    def __init__(self, function: Function, module: Module) -> None:
        self.layout = module.layout
        self.entry = function.blocks[0]
        self.names = Names(v.name for v in (*function.arguments, *function.blocks, *function.instructions()))
        self.made: dict[tuple[AnyValue, int], AnyValue] = {}

    def store(self, store: Store) -> None:
        b, vector = Builder(store.block, self.names), store.value
        t = vector.type
        assert isinstance(t, VectorType)
        parts = [self.lane(vector, n) for n in range(t.count)]
        b.at = store.block.instructions.index(store)
        for n, part in enumerate(parts):
            at = n * self.layout.size(t.element)
            b.store(part, b.offset(store.pointer, at), gcd(store.align, at)).metadata = dict(store.metadata)
        store.drop()
        _drop_unused(vector)

    def lane(self, v: AnyValue, n: int) -> AnyValue:
        if (v, n) not in self.made:
            self._make(v, n)
        return self.made[v, n]

    def _make(self, v: AnyValue, n: int) -> None:
        t = v.type
        assert isinstance(t, VectorType)
        if not has_lanes(v):
            self.made[v, n] = Undef(t.element, True) if isinstance(v, Undef) else self._after(v).extract_element(v, n)
            return
        match v:
            case Phi():
                phi = Phi(t.element)
                self.made[v, n] = self._after(v).insert(phi, v.name)
                for value, block in zip(v.operands, v.blocks, strict=True):
                    phi.add(self.lane(value, n), block)
            case Load(pointer):
                b, at = self._after(v), n * self.layout.size(t.element)
                made = b.load(t.element, b.offset(pointer, at), v.name, gcd(v.align, at))
                assert isinstance(made, Load)
                made.metadata = dict(v.metadata)
                self.made[v, n] = made
            case ShuffleVector(lhs, rhs, mask):
                assert isinstance(lhs.type, VectorType)
                n_lhs, k = lhs.type.count, mask[n]
                poison = Undef(t.element, True)
                self.made[v, n] = poison if k < 0 else self.lane(lhs, k) if k < n_lhs else self.lane(rhs, k - n_lhs)
            case InsertElement(vector, value, ConstInt(value=index)):
                self.made[v, n] = value if index == n else self.lane(vector, n)
            case Cast(opcode, value):
                part = self.lane(value, n)
                self.made[v, n] = self._after(v).cast(opcode, part, t.element)
            case Unary(opcode, value):
                part = self.lane(value, n)
                self.made[v, n] = self._after(v).unary(opcode, part)
            case Select(condition, if_true, if_false):
                a, c = self.lane(if_true, n), self.lane(if_false, n)
                self.made[v, n] = self._after(v).select(condition, a, c)

    def _after(self, v: AnyValue) -> Builder:
        """Where `v` can be used; of what is no instruction, the beginning of the function."""
        block = v.block if isinstance(v, Instruction) else self.entry
        b = Builder(block, self.names)
        b.at = block.instructions.index(v) + 1 if isinstance(v, Instruction) else 0
        return b


def _drop_unused(v: AnyValue) -> None:
    """Leave out a vector that nobody uses, and what was made for it alone: its words would be moved for nothing."""
    if isinstance(v, Instruction) and not v.users and has_lanes(v):
        operands = list(v.operands)
        v.drop()
        for o in operands:
            _drop_unused(o)


__all__ = ["has_lanes", "lanes_of", "take_apart"]
