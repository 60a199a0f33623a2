"""Static variables that hold nothing but blocks of their own, which nothing else leads to.

`static double *work;`, which one function allocates and others use, two such buffers that are exchanged, or a `static
std::vector<double>`: whoever ran before, they hold null or blocks of `malloc`'s or `new`'s that no other variable was
given, and no argument of a derivative points there. So a derivative may make their shadows itself
(`analysis.memory.static_buffers`).

Followed through the whole program (`llgrad.analysis.statics.static_points_to`) are the variables' addresses and
pointers into their blocks, and what is stored in the variables must be fresh from an allocator. Which of their pointers
lead to the start of a block, wherever they are stored, is found out, too: its size can be asked there alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from llgrad.analysis.memory.call_effects import OWN, behaviour
from llgrad.analysis.objects import WORD
from llgrad.analysis.solver import reach
from llgrad.analysis.statics.static_points_to import (
    BLOCK,
    NUMBER,
    Escapes,
    Following,
    Part,
    Place,
    Walk,
    ends,
    merged,
    variable_of,
)
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
    Unary,
    Undef,
)
from llgrad.llvm.assembly import spelt

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
        """For a program: what `analysis.memory.call_effects.owner_of` reads."""
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

    def copied(self, walk: Walk, v: AnyValue) -> frozenset[Place] | None:
        """Where a pointer is copied from, if it leads to the start of a block where those do."""
        found = set[Place]()
        for w in ends(v, lambda w: w.operands if isinstance(w, Unary) and w.opcode == "freeze" else merged(w)):
            match w:
                case ConstNull() | Undef():
                    pass
                case Load() if w in walk.loads:
                    found.add(walk.loads[w])
                case Call() if (f := w.called_function) is not None and (f.is_declaration or self._returns_starts(f)):
                    pass
                case _:
                    return None
        return frozenset(found)

    def returns_fresh(self, f: Function) -> bool:
        """Is all that a function returns fresh from an allocator, or null?"""
        if f not in self._fresh:
            self._fresh[f] = False
            if self.part.is_open(f):
                return False
            walk = _Walk(self, f)
            try:
                for v in f.returned():
                    walk.check_kept(v)
                self._fresh[f] = walk.run() <= {BLOCK}
            except Escapes:
                pass
        return self._fresh[f]

    def _returns_starts(self, f: Function) -> bool:
        if f not in self._at_start:
            self._at_start[f] = False
            self._at_start[f] = all(self.copied(_Walk(self, f), v) == frozenset() for v in f.returned())
        return self._at_start[f]


def _within(v: GlobalVariable, places: Iterable[Place]) -> tuple[int, ...]:
    return tuple(sorted(p.at for p in places if p.base is v and p.at is not None))


def _may_be(p: Place, among: Collection[Place]) -> bool:
    return any(p.base is q.base and None in (p.at, q.at) or p == q for q in among)


class _Walk(Walk):
    of: _Following

    def read(self, load: Load) -> None:
        self.add(load, BLOCK if isinstance(load.type, PointerType) else NUMBER)

    def is_fresh(self, v: AnyValue) -> bool:
        f = v.called_function if isinstance(v, Call) else None
        return f is not None and f.is_declaration and isinstance(v, Call) and behaviour(v, f).kind == "allocate"

    def check_copied(self, call: Call) -> None:
        for v in call.arguments[:2]:
            self.place(v)

    def check_kept(self, v: AnyValue) -> None:
        """Each block that it may lead to is one of its own, from now on."""

        def led_by(w: AnyValue) -> Iterable[AnyValue] | None:
            if isinstance(w, ConstNull | Undef) or self.seen.get(w) == BLOCK:
                return ()
            return (w.pointer,) if isinstance(w, GetElementPtr) else merged(w)

        for w in reach([v], lambda w: led_by(w) or ()):
            if led_by(w) is None and not self.is_fresh(w) and not self._is_made(w):
                raise Escapes(variable_of(w.pointer) if isinstance(w, Load) else None)
            if not isinstance(w, ConstNull | Undef):
                self.add(w, BLOCK)

    def _is_made(self, v: AnyValue) -> bool:
        return isinstance(v, Call) and (f := v.called_function) is not None and self.of.returns_fresh(f)


__all__ = ["Owner", "own_buffers"]
