"""Static memory whose pointers lead into itself: pools with free lists, arenas, rows on a static stack.

The nodes of `static struct node pool[64]` lead to each other, and `static struct node *unused` to one of them. Where a
whole program stores nothing else in such a group of variables than null and addresses in the group, and such addresses
nowhere else, no pointer leads out of it when a derivative begins, nor in. To which element one leads is not asked: all
must lead into one variable (as in `llgrad.analysis.statics.known_targets`, which follows each variable alone, and keeps
the tables).

Addresses in the group are followed through registers, calls and the group's own memory. Functions are looked at once
for each set of parameters that get such addresses: what two parameters lead to may be linked, if both are in the group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from llgrad.analysis.objects import initial_pointers
from llgrad.analysis.statics.known_targets import by_distance
from llgrad.analysis.statics.static_points_to import (
    NUMBER,
    Escapes,
    Following,
    Part,
    Place,
    Places,
    Role,
    Walk,
    check_pieces,
    ends,
    is_slot,
    variable_of,
)
from llgrad.ir.types import PointerType
from llgrad.ir.values import (
    AnyValue,
    Call,
    ConstNull,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    Load,
    Store,
    Undef,
)

_WITHIN = Place(Role.ADDRESS, None)
Way = tuple[Function, frozenset[int]]
"""A function, and which of its parameters get addresses in the group."""


def pools(part: Part, places: Places, names: Collection[str], others: Collection[str]) -> dict[str, str]:
    """Of the variables that are in such a group: the one that its pointers lead into. Groups are of `names`, and of
    `others` where one of these is."""
    found: dict[str, str] = {}
    for name in names:
        group = {name}
        while not group & found.keys():
            try:
                target = _Following(part, places, group).target()
                found |= dict.fromkeys(group, target) if target is not None else {}
                break
            except Escapes as e:
                if e.to is None or e.to.name in group or e.to.name not in others:
                    break
                group.add(e.to.name)
    return found


class _Following(Following):
    def __init__(self, part: Part, places: Places, group: Collection[str]) -> None:
        super().__init__(part, _Walk)
        self.variables = [part.variable(name) for name in sorted(group)]
        self.functions = {part.function(name) for v in self.variables for name in part.around[v.name]}
        self._places = places
        self._begun: dict[Way, Walk] = {}
        self._returned: dict[Way, frozenset[Place]] = {}
        self._expected: dict[Function, set[Place]] = {}  # what they returned, when this was asked last

    def target(self) -> str | None:
        """The variable that the group's pointers lead into; None: there are no pointers. Raises Escapes."""
        targets = {g.name for v in self.variables for g in self._initial(v)}
        entries = [f for f in self.functions if self._may_be_entered(f)]
        while True:  # until all returns what was expected
            self._begun, before, failed = {}, dict(self._returned), None
            for (f, _), places in before.items():
                self._expected.setdefault(f, set()).update(places)
            for f in entries:
                try:
                    if self.returned(f, frozenset()):
                        raise Escapes
                except Escapes as e:
                    failed = failed or e
            if self._returned == before:
                break
        if failed is not None:
            raise failed
        check_pieces(list(self._begun.values()), self.part.module.layout)
        targets |= {v.name for v in self.variables if self._is_led_to(v)}
        if len(targets) > 1:
            raise Escapes
        return next(iter(targets), None)

    def returned(self, f: Function, given: frozenset[int]) -> frozenset[Place]:
        """What a function returns of what is followed, as far as it is known. Raises Escapes."""
        way = f, given
        if way not in self._begun:
            walk = self._begun[way] = self._walk(self, f)
            try:
                for n in given:
                    walk.add(f.arguments[n], _WITHIN)
                for i in f.instructions():
                    for v in i.operands:
                        if self._address(v, self.variables) is not None:
                            walk.add(v, _WITHIN, [i])
                    if isinstance(i, Call) and (g := i.called_function) is not None:
                        for place in self._expected.get(g, ()):
                            walk.add(i, place)
                walk.run()
            finally:
                self._returned[way] = self._returned.get(way, frozenset()) | walk.returned
        return self._returned.get(way, frozenset())

    def _initial(self, v: GlobalVariable) -> Iterable[GlobalVariable]:
        """The variables of the group that its initializer names."""
        if v.initializer is None or any(word.startswith("thread_local") for word in v.prefix):
            raise Escapes
        for name in self._places.naming(v.name).variables:
            if name not in {g.name for g in self.variables}:
                raise Escapes(self.part.variable(name))
        for _, g, _ in initial_pointers(v.initializer, self.part.module.layout):
            if not isinstance(g, GlobalVariable) or g not in self.variables:
                raise Escapes(g if isinstance(g, GlobalVariable) else None)
            yield g

    def _may_be_entered(self, f: Function) -> bool:
        """May it be called by functions that are not followed, with addresses that are none of the group's?"""
        if f.name not in self.part.closed:
            return True
        namers = {*self._places.naming(f.name).functions}
        return not namers <= {g.name for g in self.functions} or any(
            o is f and not (isinstance(i, Call) and i.callee is f and f not in i.arguments)
            for g in self.functions
            for i in g.instructions()
            for o in i.operands
        )

    def _is_led_to(self, v: GlobalVariable) -> bool:
        """Is its address more than what somebody loads from, or stores to?"""
        return any(
            self._address(o, [v]) is not None and not (isinstance(i, Load) or isinstance(i, Store) and i.value is not o)
            for walk in self._begun.values()
            for i in walk.function.instructions()
            for o in i.operands
        )


class _Walk(Walk):
    of: _Following

    def add(self, v: AnyValue, place: Place, users: Iterable[object] | None = None) -> None:
        super().add(v, _WITHIN if place.role is Role.ADDRESS else place, users)

    def read(self, load: Load) -> None:
        self.add(load, _WITHIN if isinstance(load.type, PointerType) else NUMBER)

    def check_kept(self, v: AnyValue) -> None:
        """When all calls are known (`_check_merged`)."""

    def check_copied(self, call: Call) -> None:
        for v in call.arguments[:2]:
            self.place(v)

    def keep_number(self, place: Place, v: AnyValue) -> None:
        if v not in self.loads:  # the bits of a pointer that is copied
            super().keep_number(place, v)

    def _follow(self, u: Instruction, v: AnyValue, by: int | None) -> None:
        if isinstance(u, GetElementPtr) and by_distance(u):
            raise Escapes
        super()._follow(u, v, by)

    def _stored(self, v: AnyValue, role: Role, store: Store) -> None:
        if store.value is v and role is Role.ADDRESS and not is_slot(store.pointer):
            self._stored_at.append(store.pointer)
        else:
            super()._stored(v, role, store)

    def _called(self, v: AnyValue, role: Role, call: Call) -> None:
        f = call.called_function
        if f is None or f.is_declaration:
            super()._called(v, role, call)
        elif role is not Role.ADDRESS:
            raise Escapes

    def _check_merged(self) -> None:
        if self._calls():
            return
        super()._check_merged()
        for _, v in self.kept:
            if v not in self.seen and not isinstance(v, ConstNull | Undef):
                raise Escapes(next((g for w in ends(v) if (g := variable_of(w)) is not None), None))

    def _calls(self) -> bool:
        """Follow what is given to functions with bodies, and what they return. Is there more now? Raises Escapes where
        one does not return what was expected of it."""
        before = len(self.seen)
        for call in (i for i in self.function.instructions() if isinstance(i, Call)):
            f = call.called_function
            if f is None or f.is_declaration:
                continue
            within = [n for n, a in enumerate(call.arguments) if a in self.seen and self.seen[a].role is Role.ADDRESS]
            if within and (f.name in self.of.part.asking or self.of.part.is_open(f) or max(within) >= len(f.arguments)):
                raise Escapes
            if within or f in self.of.functions:
                nothing = [n for n, a in enumerate(call.arguments[: len(f.arguments)]) if isinstance(a, ConstNull)]
                found = self.of.returned(f, frozenset((*within, *nothing)))
                for place in found:
                    self.add(call, place)
                if call in self.seen and self.seen[call] not in found:
                    raise Escapes
            elif call in self.seen:
                raise Escapes
        return len(self.seen) > before


__all__ = ["pools"]
