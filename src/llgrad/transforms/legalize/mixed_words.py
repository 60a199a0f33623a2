"""Words of memory that are a float at one time and a pointer at another, moved in a register of one of the two types.

LLVM moves structs in pieces, each in a register of a type that suits it: a union's float may go as a pointer, or its
pointer as a float. The shadow of a register is that of its type, and what the other needs is lost: the adjoint of such
a float, the shadow of such a pointer. Moves like these are found here, and made copies of memory, where the shadow
tells which of the two it was (`autodiff.emit.helpers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.cells import Extent, moved, overlap
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.analysis.solver import reach
from llgrad.analysis.types.layouts import CONFLICT, MIXED
from llgrad.ir.module import Module, Position
from llgrad.ir.parse import parse
from llgrad.ir.types import DOUBLE, I64, PTR, ArrayType, DataLayout, StructType, Type, VectorType, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    Cast,
    ConstInt,
    ExtractValue,
    Function,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Unary,
)
from llgrad.ir.write import write
from llgrad.transforms.legalize.mixed_lanes import has_lanes, lanes_of, take_apart
from llgrad.transforms.legalize.mixed_to_memory import demote, is_move, known_calls

if TYPE_CHECKING:
    from llgrad.autodiff.facts.analysis_results import Facts

_BYTES, _MOST = 8, 8
_OF_LIBRARY = ("_ZTSSt", "_ZTSNSt", "_ZTSN9__gnu_cxx")
_MOVED = (PTR, DOUBLE)


class _Access(Struct, frozen=True):
    """What touches a place, as which type; a copy as either."""

    by: Instruction
    extent: Extent
    type: Type | None
    writes: bool


class _Places:
    """Who reads and writes pointers and doubles, by object."""

    def __init__(self, facts: Facts) -> None:
        self.memory, self.activity, self.layout = facts.memory, facts.activity, facts.layout
        self._parts: dict[Type, list[tuple[int, Type]]] = {}
        self.accesses: dict[MemoryObject, list[_Access]] = {}
        self.own: dict[Instruction, list[tuple[MemoryObject, _Access]]] = {}
        for f in self.memory.functions:
            for i in f.instructions():
                self._note(i)

    def _note(self, i: Instruction) -> None:
        match i:
            case Load(pointer):
                for at, t in self._moved(i):
                    self._add(i, pointer, t, False, _BYTES, at)
            case Store(value, pointer):
                for at, t in self._moved(value):
                    self._add(i, pointer, t, True, _BYTES, at)
            case Call(arguments=[target, source, length, *_]) if is_copy(i):
                size = length.value if isinstance(length, ConstInt) else 1 << 40
                self._add(i, target, None, True, size)
                self._add(i, source, None, False, size)

    def _moved(self, v: AnyValue) -> list[tuple[int, Type]]:
        """The pointers and doubles in a value; they may be moved in integers, of a vector in any lane."""
        if scalar(v.type) != I64:
            return self.parts(v.type)
        lanes = v.type.count if isinstance(v.type, VectorType) else 1
        casts = [w for w in (reach([v], _moved_from) if lanes > 1 else [v]) if isinstance(w, Cast)]
        types = dict.fromkeys(t for w in casts if (t := scalar(w.value.type)) in _MOVED)
        return [(n * _BYTES, t) for n in range(lanes) for t in types]

    def parts(self, t: Type) -> list[tuple[int, Type]]:
        """The pointers and doubles in a type."""
        if t not in self._parts:
            self._parts[t] = [(at, leaf) for at, leaf in _scalars(t, self.layout) if leaf in _MOVED]
        return self._parts[t]

    def _add(
        self, i: Instruction, pointer: AnyValue, type: Type | None, writes: bool, size: int, at: int = 0
    ) -> None:  # fmt: skip
        for o, spot in self.memory.places(pointer):
            made = _Access(i, (moved(spot, at), size), type, writes)
            self.accesses.setdefault(o, []).append(made)
            self.own.setdefault(i, []).append((o, made))

    def meeting(self, i: Instruction) -> Iterator[tuple[_Access, _Access]]:
        """The accesses of `i`, each with what may touch the same bytes."""
        for o, mine in self.own.get(i, ()):
            yield from ((mine, other) for other in self.accesses[o] if overlap(mine.extent, other.extent))

    def may_find_other(self, load: Load) -> bool:
        """Is what a load reads written as the other type elsewhere? Anywhere in one of many records does not count.

        Nor do members of the standard library's classes, of another type: nobody writes to them but itself.
        """
        for o, mine in self.own.get(load, ()):
            if not self._may_have_shadow(o):
                continue
            others = [
                a for a in self.accesses[o]
                if a.writes and a.type != mine.type and (a.type is not None or _moves_words(a.by))
                and not self._is_apart(load, a.by)
            ]  # fmt: skip
            if others and any(isinstance(a.extent[0], tuple) for a in self.accesses[o]):
                others = [a for a in others if a.extent[0] is not None and mine.extent[0] is not None]
            if any(overlap(mine.extent, other.extent) for other in others):
                return True
        return False

    def _may_have_shadow(self, o: MemoryObject) -> bool:
        """Has it one, or would it if what it leads to were read through words that nobody follows?"""
        led_to = self.memory.reachable(frozenset({o}))
        return o in self.activity.shadowed_objects or any(map(self.activity.varied, led_to))

    def _is_apart(self, load: Load, store: Instruction) -> bool:
        """Do types keep them apart, one being of the standard library? Others may break the rules."""
        types = self.memory.types
        tags = types.tag(load), types.tag(store)
        return not types.may_alias(*tags) and any(t is not None and t.base.name.startswith(_OF_LIBRARY) for t in tags)

    def is_read_as_other(self, store: Store) -> bool:
        """May what a store writes be read as the other type, or copied?"""
        return any(not b.writes and b.type != a.type for a, b in self.meeting(store))

    def readers(self, store: Store) -> list[Load]:
        """The loads that may find what a store writes, as the same type."""
        return [b.by for a, b in self.meeting(store) if isinstance(b.by, Load) and b.type == a.type]


def _moves_words(copy: Instruction) -> bool:
    """Was it made where a word of either type was moved in a register?"""
    return MIXED in copy.metadata


def moves(facts: Facts) -> list[Store]:
    """The stores through which such words go, as one type, to where they may be read as the other."""
    stores = [
        i for f in facts.memory.functions for i in f.instructions() if isinstance(i, Store) and _may_move(i.value.type)
    ]
    loaded = _origins(stores, _moved_from)
    places = None
    if handed := _handed_on(facts.memory):
        places = _Places(facts)
        if any(map(places.may_find_other, handed)):
            loaded = _origins(stores, partial(_back, facts.memory))
    stored: dict[Load, list[Store]] = {}
    for i, loads in loaded.items():
        for load in loads:
            stored.setdefault(load, []).append(i)
    if not stored:
        return []
    places = places or _Places(facts)
    first = [i for load, found in stored.items() if places.may_find_other(load) for i in found]
    led_to: dict[Store, list[Store]] = {}

    def following(i: Store) -> list[Store]:
        led_to[i] = [s for load in places.readers(i) for s in stored.get(load, ())]
        return led_to[i]

    reached = reach(first, following)
    ends = [i for i in reached if places.is_read_as_other(i)]
    back: dict[Store, list[Store]] = {}
    for i, later in led_to.items():
        for s in later:
            back.setdefault(s, []).append(i)
    return list(reach(ends, lambda i: back.get(i, [])))


def _origins(stores: Sequence[Store], way: Callable[[AnyValue], list[AnyValue]]) -> dict[Store, list[Load]]:
    found = {i: [v for v in reach([i.value], way) if isinstance(v, Load)] for i in stores}
    return {
        i: [v for v in loads if scalar(i.value.type) != I64 or scalar(v.type) in _MOVED] for i, loads in found.items()
    }


def _handed_on(memory: Memory) -> list[Load]:
    """The loads of pointers and doubles whose values go to functions with bodies, or back from them."""
    found: list[Load] = []
    for f in memory.functions:
        calls = [i for i in f.instructions() if isinstance(i, Call) and _has_body(memory, i)]
        ends = [i for i in f.instructions() if isinstance(i, Return) and memory.callers(f)]
        values = [v for i in (*calls, *ends) for v in (i.arguments if isinstance(i, Call) else i.operands)]
        found += [v for v in reach(values, _moved_from) if isinstance(v, Load) and scalar(v.type) in _MOVED]
    return found


def _has_body(memory: Memory, call: Call) -> bool:
    return any(not f.is_declaration for f in memory.functions_called(call).functions)


def _back(memory: Memory, v: AnyValue) -> list[AnyValue]:
    """The values that `v` may be, also where it comes from calls and callers."""
    return memory.passed(v) if isinstance(v, Argument | Call) else _moved_from(v)


def _may_move(t: Type) -> bool:
    return t in _MOVED or t == I64 or isinstance(t, StructType | ArrayType | VectorType)


def _scalars(t: Type, layout: DataLayout) -> Iterator[tuple[int, Type]]:
    """(where, type) of the scalars in a type of no more than a few."""
    inside = list(islice(layout.members(t), _MOST + 1))
    if not 0 < len(inside) <= _MOST:
        yield 0, t
        return
    for at, field in inside:
        yield from ((at + o, leaf) for o, leaf in _scalars(field, layout))


def chosen_of(v: AnyValue) -> list[AnyValue]:
    match v:
        case Phi() | InsertValue():
            return list(v.operands)
        case Select():
            return v.operands[1:]
        case ExtractValue():
            return [v.aggregate]
    return []


def _kept_from(v: AnyValue) -> list[AnyValue]:
    """The values that `v` may be, in a register of another type, too."""
    return list(v.operands) if is_move(v) and isinstance(v, Cast | Unary) else chosen_of(v)


def _moved_from(v: AnyValue) -> list[AnyValue]:
    return _kept_from(v) or lanes_of(v)


def refuse(facts: Facts) -> None:
    """Raise a KindError at such stores, which its remedy makes copies."""
    if found := moves(facts):
        error = facts.kinds.error(found[0], 0, CONFLICT, _BYTES)
        plain = not any(_hands_back_words(facts.memory, i.value) for i in found)
        vectors = any(map(has_lanes, reach([i.value for i in found], _moved_from)))
        remedy = in_registers if vectors else partial(copied, plain=plain)
        error.remedy = partial(remedy, found=[Position.of(i) for i in found])
        raise error


def _hands_back_words(memory: Memory, v: AnyValue) -> bool:
    """May it come from memory through a call of which it is not written which function it calls?"""
    back = partial(_back, memory)
    indirect = [c for c in reach([v], back) if isinstance(c, Call) and _is_indirect(c)]
    unknown = any(memory.functions_called(c).may_be_unknown for c in indirect)
    return unknown or any(isinstance(w, Load) for w in reach(list[AnyValue](indirect), back))


def copied(text: str, found: Sequence[Position], *, plain: bool = False) -> str:
    """The text with such moves as copies of memory. `plain`: calls through pointers hand back none of the words."""
    module = parse(text)
    stores = [p.find(module) for p in found]
    web = _Web(module).behind([i.operands[0] for i in stores], plain)
    if not web:
        return text
    words = {(v.type, at) for v in web for at, t in _scalars(v.type, module.layout) if t in _MOVED}
    demote(module, web, words)
    return write(module)


def in_registers(text: str, found: Sequence[Position]) -> str:
    """The text with vectors of such words as registers of one word each."""
    module = parse(text)
    stores = [i for p in found if isinstance(i := p.find(module), Store)]
    done = take_apart(module, stores, reach([i.value for i in stores], _moved_from))
    return write(module) if done else text


class _Web:
    """What words are moved through before they are stored, in functions of which all calls are known."""

    def __init__(self, module: Module) -> None:
        self.calls = known_calls(module)
        self.owner: dict[AnyValue, Function] = {}
        used = {o for f in module.functions for i in f.instructions() for o in i.operands if isinstance(o, Function)}
        for f in module.functions:
            if f.blocks and (f in used or f.linkage in ("internal", "private")):
                self.owner |= dict.fromkeys(f.arguments, f)

    def behind(self, values: Sequence[AnyValue], plain: bool) -> list[AnyValue]:
        """A web of these values; empty where they come from functions that may be called from elsewhere."""
        found = list(reach(values, self._back))
        through = [f for v in found if (f := self._function(v)) is not None]
        indirect = any(isinstance(v, Call) and _is_indirect(v) for v in found)
        if any(f not in self.calls for f in through) or (indirect and not plain):
            return []
        return [v for v in found if is_move(v) or self._function(v) is not None]

    def _function(self, v: AnyValue) -> Function | None:
        """The function with a body that gets, or returns, a value; callers outside, and other code, hold no words."""
        if isinstance(v, Argument):
            return self.owner.get(v)
        f = v.called_function if isinstance(v, Call) else None
        return f if f is not None and f.blocks else None

    def _back(self, v: AnyValue) -> list[AnyValue]:
        f = self._function(v)
        if f is None or f not in self.calls:
            return _kept_from(v)
        if isinstance(v, Argument):
            return [c.arguments[v.index] for c in self.calls[f]]
        return [*self.calls[f], *f.returned()]


def _is_indirect(call: Call) -> bool:
    return call.called_function is None


__all__ = ["chosen_of", "copied", "refuse"]
