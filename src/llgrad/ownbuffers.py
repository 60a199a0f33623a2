"""Static variables that hold nothing but blocks of their own, which nothing else leads to.

`static double *work;`, which one function allocates and others use, two such buffers that are exchanged, or a `static
std::vector<double>`: whoever ran before, they hold null or blocks of `malloc`'s or `new`'s that no other variable was
given, and no argument of a derivative points there. So a derivative may make their shadows itself
(`analysis.keptbuffers`).

Followed through the whole program (`llgrad.following`) are the variables' addresses and pointers into their blocks, and
what is stored in the variables must be fresh from an allocator. Which of their pointers lead to the start of a block,
wherever they are stored, is found out, too: its size can be asked there alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from llgrad.analysis.known import OWN, behaviour
from llgrad.analysis.objects import WORD
from llgrad.assembly import spelt
from llgrad.following import Escapes, Following, Part, Place, Role, Walk, is_slot, returned, stored_in, variable_of
from llgrad.ir.types import ArrayType, PointerType
from llgrad.ir.values import (
    AnyValue,
    Call,
    ConstInt,
    ConstNull,
    ConstZero,
    Function,
    GetElementPtr,
    GlobalVariable,
    Load,
    Phi,
    Select,
    Unary,
    Undef,
)

_MOST_WORDS = 16  # of all variables that exchange blocks


class Owner(Struct, frozen=True):
    """A variable that is such, and the number of the group that it has its blocks in common with: at which bytes there
    are pointers to the starts of blocks, and others."""

    name: str
    group: int
    starts: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def line(self) -> str:
        """For a program: what `analysis.known.owner_of` reads."""
        numbers = [self.group, len(self.starts), *self.starts, *self.others]
        listed = ", ".join(f"i64 {n}" for n in numbers)
        return f"{spelt(OWN + self.name)} = global [{len(numbers)} x i64] [{listed}]\n"


def own_buffers(part: Part, names: Collection[str]) -> list[Owner]:
    """Those of the variables that are such."""
    following, found, done = _Following(part), list[Owner](), set[str]()
    for name in names:
        group = {name}
        while not group & done and group <= set(names):
            try:
                found += following.owners([part.variable(n) for n in sorted(group)], len(found) + 1)
                break
            except Escapes as e:
                if e.to is None or e.to.name in group:
                    break
                group.add(e.to.name)
        done |= group
    return found


class _Stored(Struct, frozen=True):
    """A pointer is stored: to the start of a block if those are that it was copied `of`; None: it is no start."""

    place: Place
    of: frozenset[Place] | None
    whole: bool = False  # it is a word of what is copied, and may be no pointer


class _Following(Following):
    def __init__(self, part: Part) -> None:
        super().__init__(part, _Walk)
        self._fresh: dict[Function, bool] = {}
        self._at_start: dict[Function, bool] = {}

    def owners(self, variables: Collection[GlobalVariable], number: int) -> list[Owner]:
        """Variables from which nothing escapes. Raises Escapes."""
        if not all(isinstance(v.initializer, ConstNull | ConstZero) for v in variables):
            raise Escapes
        every = {s for walk in self.follow(variables) for s in self._all_stored(walk)}
        stored = {s for s in every if not s.whole}
        while added := {s for s in every - stored if any(_may_be(p, [t.place for t in stored]) for p in s.of or ())}:
            stored |= added
        inner: set[Place] = set()
        while more := {s.place for s in stored if s.of is None or any(_may_be(p, inner) for p in s.of)} - inner:
            inner |= more
        places = {word for s in stored for word in self._words(s.place)}
        if any(p.at is None for p in inner) or len(places) > _MOST_WORDS:
            raise Escapes
        if places and places <= inner:
            raise Escapes  # nobody can be asked how large the blocks are
        return [Owner(v.name, number, _within(v, places - inner), _within(v, inner)) for v in variables]

    def _words(self, place: Place) -> Iterable[Place]:
        """Those of a place that is not known are all elements of an array."""
        if place.at is not None:
            return [place]
        t = place.base.value_type if isinstance(place.base, GlobalVariable) else None
        if not isinstance(t, ArrayType) or not isinstance(t.element, PointerType):
            raise Escapes
        return [Place(place.base, n * WORD) for n in range(t.count)]

    def _all_stored(self, walk: Walk) -> Iterator[_Stored]:
        for place, v in walk.kept:
            yield _Stored(place, self.copied(walk, v))
        for call in walk.copies:
            to, source, length = (walk.place(call.arguments[0]), walk.place(call.arguments[1]), call.arguments[2])
            words = range(0, length.value, WORD) if isinstance(length, ConstInt) and length.value < 256 else (None,)
            yield from (_Stored(to.moved(n), frozenset({source.moved(n)}), whole=True) for n in words)
        for place, inside in walk.inner:
            for s in self._all_stored(inside):
                of = None if s.of is None else frozenset(place.moved(p.at) for p in s.of)
                yield _Stored(place.moved(s.place.at), of, s.whole)

    def copied(self, walk: Walk, v: AnyValue, asked: frozenset[AnyValue] = frozenset()) -> frozenset[Place] | None:
        """Where a pointer is copied from, if it leads to the start of a block where those do."""
        inner: Iterable[AnyValue] = ()
        match v:
            case ConstNull() | Undef():
                return frozenset()
            case Load() if v in walk.loads:
                return frozenset({walk.loads[v]})
            case Call() if (f := v.called_function) is not None:
                return frozenset() if f.is_declaration or self._returns_starts(f) else None
            case Phi():
                inner = v.operands
            case Select(_, one, other):
                inner = (one, other)
            case Unary("freeze", operand):
                inner = (operand,)
            case Load(pointer) if is_slot(pointer):
                inner = stored_in(pointer)
            case _:
                return None
        found = [self.copied(walk, w, asked | {v}) for w in inner if w not in asked]
        return None if None in found else frozenset(p for some in found for p in some or ())

    def returns_fresh(self, f: Function) -> bool:
        """Is all that a function returns fresh from an allocator, or null?"""
        if f not in self._fresh:
            self._fresh[f] = False
            if self.part.is_open(f):
                return False
            walk = _Walk(self, f)
            try:
                for v in returned(f):
                    walk.check_kept(v)
                self._fresh[f] = walk.run() <= {Role.BLOCK}
            except Escapes:
                pass
        return self._fresh[f]

    def _returns_starts(self, f: Function) -> bool:
        if f not in self._at_start:
            self._at_start[f] = False
            self._at_start[f] = all(self.copied(_Walk(self, f), v) == frozenset() for v in returned(f))
        return self._at_start[f]


def _within(v: GlobalVariable, places: Iterable[Place]) -> tuple[int, ...]:
    return tuple(sorted(p.at for p in places if p.base is v and p.at is not None))


def _may_be(p: Place, among: Collection[Place]) -> bool:
    return any(p.base is q.base and None in (p.at, q.at) or p == q for q in among)


class _Walk(Walk):
    of: _Following

    def read(self, load: Load) -> None:
        self.add(load, Role.BLOCK if isinstance(load.type, PointerType) else Role.NUMBER)

    def is_fresh(self, v: AnyValue) -> bool:
        f = v.called_function if isinstance(v, Call) else None
        return f is not None and f.is_declaration and isinstance(v, Call) and behaviour(v, f).kind == "allocate"

    def check_copied(self, call: Call) -> None:
        for v in call.arguments[:2]:
            self.place(v)

    def check_kept(self, v: AnyValue) -> None:
        self._check_fresh(v, set())

    def _check_fresh(self, v: AnyValue, asked: set[AnyValue]) -> None:
        """Is it a block of its own, from now on?"""
        if v in asked or self.seen.get(v) is Role.BLOCK or isinstance(v, ConstNull | Undef):
            return
        asked.add(v)
        inner: Iterable[AnyValue] = ()
        match v:
            case Call() if (f := v.called_function) is not None:
                if not (self.of.returns_fresh(f) if not f.is_declaration else behaviour(v, f).kind == "allocate"):
                    raise Escapes
            case Phi():
                inner = v.operands
            case Select(_, one, other):
                inner = (one, other)
            case GetElementPtr(_, pointer, _):
                inner = (pointer,)
            case Load(pointer) if is_slot(pointer):
                inner = stored_in(pointer)
            case Load(pointer):
                raise Escapes(variable_of(pointer))
            case _:
                raise Escapes
        self.add(v, Role.BLOCK)
        for w in inner:
            self._check_fresh(w, asked)


__all__ = ["Owner", "own_buffers"]
