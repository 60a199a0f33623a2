"""Static pointers all of whose targets are known: `now = a; next = b;` and functions that exchange the two.

Where everything that a whole program stores in a variable is the address of some other variable, null, or read from
such a variable, it leads nowhere else when a derivative begins. What it may lead to is kept in a table beside it, where
`analysis.memory.points_to` finds it; its shadow is set as the derivative is entered
(`autodiff.shadows.static_targets`). Addresses that are computed (`row[i] = data + i * n;`) may be those of the end of a
variable, where its neighbour begins: then all must lead into one variable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from llgrad.analysis.memory.call_effects import TARGETS
from llgrad.analysis.objects import initial_pointers
from llgrad.analysis.statics.static_points_to import Escapes, Following, Part, Place, Walk, ends, merged, variable_of
from llgrad.ir.values import (
    AnyConstant,
    AnyValue,
    Binary,
    Call,
    Cast,
    ConstExpr,
    ConstNull,
    GetElementPtr,
    GlobalValue,
    GlobalVariable,
    Load,
    Undef,
)
from llgrad.llvm.assembly import spelt

Address = tuple[str, int | None]
"""A byte of a variable; None: any."""


def known_targets(part: Part, variables: Collection[str]) -> dict[str, tuple[Address, ...]]:
    """Of those that are such: what they may lead to. `variables`: all that the program has."""
    direct = {name: found for name in part.groups if (found := _direct(part, name, variables)) is not None}
    while True:
        known = _closure(direct)
        lost = {name for name, (_, others) in direct.items() if any(other not in direct for other, _ in others)}
        if not (lost := lost or {name for name, targets in known.items() if _is_vague(targets)}):
            return {name: tuple(sorted(targets, key=str)) for name, targets in known.items() if targets}
        direct = {name: found for name, found in direct.items() if name not in lost}


def table(variable: str, targets: Iterable[Address]) -> str:
    """A line for a program that lists what a variable may lead to (`analysis.memory.call_effects.targets_of`)."""
    exact = [f"ptr getelementptr (i8, ptr {spelt(g)}, i64 {at})" for g, at in targets if at is not None]
    somewhere = [f"ptr {spelt(g)}" for g, at in targets if at is None]
    lists = ", ".join(f"[{len(found)} x ptr] [{', '.join(found)}]" for found in (exact, somewhere))
    return f"{spelt(TARGETS + variable)} = global {{ [{len(exact)} x ptr], [{len(somewhere)} x ptr] }} {{ {lists} }}\n"


Direct = tuple[set[Address], set[tuple[str, bool]]]
"""What is stored in a variable: addresses, and what others hold (is it moved?)."""


def _closure(direct: Mapping[str, Direct]) -> dict[str, set[Address]]:
    known = {name: set(targets) for name, (targets, _) in direct.items()}
    while True:
        before = sum(map(len, known.values()))
        for name, (_, others) in direct.items():
            for other, moved in others:
                known[name] |= {(g, None if moved else at) for g, at in known.get(other, ())}
        if sum(map(len, known.values())) == before:
            return known


def _is_vague(targets: Collection[Address]) -> bool:
    """Is it not seen to which variable a pointer belongs?"""
    return any(at is None for _, at in targets) and len({g for g, _ in targets}) > 1


def _direct(part: Part, name: str, variables: Collection[str]) -> Direct | None:
    following = _Following(part, variables)
    try:
        variable = part.variable(name)
        following.follow([variable])
        if variable.initializer is None:
            return None
        following.targets |= following.listed(variable.initializer)
    except Escapes:
        return None
    return following.targets, following.others


class _Following(Following):
    def __init__(self, part: Part, variables: Collection[str]) -> None:
        super().__init__(part, _Walk)
        self._variables, self._layout = variables, part.module.layout
        self.targets: set[Address] = set()
        self.others: set[tuple[str, bool]] = set()  # variables that pointers are copied from; are they moved?

    def listed(self, value: AnyConstant, moved: bool = False) -> set[Address]:
        """The addresses in a constant."""
        return {self._listed(g, at, moved) for _, g, at in initial_pointers(value, self._layout)}

    def _listed(self, g: GlobalValue | None, at: int | None, moved: bool) -> Address:
        if not isinstance(g, GlobalVariable) or g.constant or g.name not in self._variables:
            raise Escapes
        if any(word.startswith("thread_local") for word in g.prefix):
            raise Escapes
        if moved or at is None or not 0 <= at < (self._layout.known_size(g.value_type) or 0):
            return g.name, None
        return g.name, at


class _Walk(Walk):
    of: _Following

    def read(self, load: Load) -> None:
        """Wherever that leads, the variable stays as it is."""

    def check_copied(self, call: Call) -> None:
        if call.arguments[0] in self.seen:
            self._copied(call.arguments[1])

    def keep_number(self, place: Place, v: AnyValue) -> None:
        if isinstance(v, Load):
            self.kept.append((place, v))  # the bits of a pointer that is copied
        else:
            super().keep_number(place, v)

    def check_kept(self, v: AnyValue) -> None:
        for one in ends(v):
            if isinstance(one, GetElementPtr):
                for base in ends(one, _moved_from):
                    self._origin(base, moved=True)
            else:
                self._origin(one, moved=False)

    def _origin(self, v: AnyValue, moved: bool) -> None:
        match v:
            case ConstNull() | Undef():
                pass
            case Load(pointer):
                self._copied(pointer, moved)
            case GlobalVariable() | ConstExpr():
                self.of.targets |= self.of.listed(v, moved)
            case _:
                raise Escapes

    def _copied(self, pointer: AnyValue, moved: bool = False) -> None:
        """Whatever a variable holds is stored in another."""
        variable = variable_of(pointer)
        if variable is None:
            raise Escapes
        if variable.constant and variable.initializer is not None:
            self.of.targets |= self.of.listed(variable.initializer, moved)
        else:
            self.of.others.add((variable.name, moved))


def _moved_from(v: AnyValue) -> Iterable[AnyValue] | None:
    """What a pointer is one of, or was before it was moved (not by distances of addresses: they lead elsewhere)."""
    if isinstance(v, GetElementPtr) and not by_distance(v):
        return (v.pointer,)
    return merged(v)


def by_distance(v: GetElementPtr) -> bool:
    """Is a pointer moved by what was computed from an address?"""
    return any(_is_distance(o) for i in v.indices for o in ends(i, _computed_from))


def _computed_from(v: AnyValue) -> Iterable[AnyValue] | None:
    return v.operands if isinstance(v, Binary | Cast) and not _is_distance(v) else merged(v)


def _is_distance(v: AnyValue) -> bool:
    return isinstance(v, ConstExpr) or (isinstance(v, Cast) and v.opcode in ("ptrtoint", "ptrtoaddr"))


__all__ = ["Address", "by_distance", "known_targets", "table"]
