"""Static pointers all of whose targets are known: `now = a; next = b;` and functions that exchange the two.

Where everything that a whole program stores in a variable is the address of some other variable, null, or read from
such a variable, it leads nowhere else when a derivative begins. What it may lead to is kept in a table beside it, where
`analysis.pointers` finds it; its shadow is set as the derivative is entered (`synthesis.targetshadows`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from llgrad.analysis.known import TARGETS
from llgrad.analysis.objects import initial_pointers
from llgrad.assembly import spelt
from llgrad.following import Escapes, Following, Part, Place, Walk, is_slot, stored_in, variable_of
from llgrad.ir.values import (
    AnyConstant,
    AnyValue,
    Call,
    ConstExpr,
    ConstNull,
    GlobalValue,
    GlobalVariable,
    Load,
    Phi,
    Select,
    Undef,
)

Address = tuple[str, int]
"""A byte of a variable."""


def known_targets(part: Part, variables: Collection[str]) -> dict[str, tuple[Address, ...]]:
    """Of those that are such: what they may lead to. `variables`: all that the program has."""
    direct: dict[str, tuple[set[Address], set[str]]] = {}
    for name in part.groups:
        if (found := _direct(part, name, variables)) is not None:
            direct[name] = found
    while lost := {name for name, (_, others) in direct.items() if not others <= direct.keys()}:
        for name in lost:
            del direct[name]
    known = {name: set(targets) for name, (targets, _) in direct.items()}
    while True:
        before = sum(map(len, known.values()))
        for name, (_, others) in direct.items():
            known[name] |= {a for other in others for a in known[other]}
        if sum(map(len, known.values())) == before:
            return {name: tuple(sorted(targets)) for name, targets in known.items() if targets}


def table(variable: str, targets: Iterable[Address]) -> str:
    """A line for a program that lists what a variable may lead to."""
    places = [f"ptr getelementptr (i8, ptr {spelt(g)}, i64 {at})" for g, at in targets]
    return f"{spelt(TARGETS + variable)} = global [{len(places)} x ptr] [{', '.join(places)}]\n"


def _direct(part: Part, name: str, variables: Collection[str]) -> tuple[set[Address], set[str]] | None:
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
        self.others: set[str] = set()  # variables that pointers are copied from

    def listed(self, value: AnyConstant) -> set[Address]:
        """The addresses in a constant."""
        return {self._listed(g, at) for _, g, at in initial_pointers(value, self._layout)}

    def _listed(self, g: GlobalValue | None, at: int | None) -> Address:
        if not isinstance(g, GlobalVariable) or g.constant or g.name not in self._variables or at is None:
            raise Escapes
        if any(word.startswith("thread_local") for word in g.prefix):
            raise Escapes
        if not 0 <= at < self._layout.alloc_size(g.value_type):
            raise Escapes  # to which of two neighbours it belongs is not seen
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
        work, asked = [v], set[AnyValue]()
        while work:
            if (v := work.pop()) in asked:
                continue
            asked.add(v)
            match v:
                case ConstNull() | Undef():
                    pass
                case Phi():
                    work += v.operands
                case Select(_, one, other):
                    work += [one, other]
                case Load(pointer) if is_slot(pointer):
                    work += stored_in(pointer)
                case Load(pointer):
                    self._copied(pointer)
                case GlobalVariable() | ConstExpr():
                    self.of.targets |= self.of.listed(v)
                case _:
                    raise Escapes

    def _copied(self, pointer: AnyValue) -> None:
        """Whatever a variable holds is stored in another."""
        variable = variable_of(pointer)
        if variable is None:
            raise Escapes
        if variable.constant and variable.initializer is not None:
            self.of.targets |= self.of.listed(variable.initializer)
        else:
            self.of.others.add(variable.name)


__all__ = ["Address", "known_targets", "table"]
