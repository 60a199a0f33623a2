"""Integers of a function as polynomials in what is known when it is entered, and how often its loops go round.

    %n = argument, for (i = 0; i < n; i++) … 8 * i …   ->   8 * i is between 0 and 8 * (n - 1)

`Numbers` evaluates one value in a `Frame`, a call of a function. Integers are read as signed numbers. Where arithmetic
may wrap (no `nsw`), the polynomial holds as long as the result is within its type: that is noted in `needs`, which
whoever uses the numbers tests, too. Of 64-bit numbers that is tested when bounds are computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress

from msgspec import Struct, field

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.cfg.loops import OPPOSITE, SWAPPED
from llgrad.analysis.memory.polynomial_bounds import (
    Between,
    Known,
    Poly,
    Unbounded,
    Value,
    Writer,
    extreme,
    hull,
    mapped,
)
from llgrad.ir.types import IntType, PointerType, Type
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    ConstInt,
    Function,
    Instruction,
    Load,
    Phi,
    Select,
)

MOST_PLACES = 8
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_WIDE = 31  # masks of so many bits cut off what is not there


class Refused(Exception):
    """Nothing can be said of the function's accesses; the message says why."""


class Place(Struct, frozen=True):
    """`offset` bytes behind an argument of the function; None: memory of its own, or that nobody writes."""

    base: Argument | None
    offset: Poly | None  # None: unknown


OWN = Place(None, None)
Places = tuple[Place, ...]


def argument_name(a: Argument) -> str:
    """What an argument of the root is called where the bounds are computed."""
    return f"%p{a.index}"


def given_number(a: Argument) -> Known:
    assert isinstance(a.type, IntType)
    return extended(argument_name(a), a.type.bits)


def extended(name: str, bits: int) -> Known:
    return Known(lambda w: name if bits == 64 else w.emit(f"sext i{bits} {name} to i64"))


def is_readable(t: Type) -> bool:
    return isinstance(t, IntType) and 8 <= t.bits <= 64


class Frame(Struct, eq=False):
    """A call of a function: what it is given, and what was found in it."""

    source: Function
    flow: Flow
    given: dict[Argument, Poly]
    pointed: dict[Argument, Places]
    stack: tuple[Function, ...]
    looped: bool = False  # called in a loop of the root
    numbers: dict[AnyValue, Poly | None] = field(default_factory=dict)
    places: dict[AnyValue, Places | None] = field(default_factory=dict)  # None: in the making
    iterations: dict[Loop, Between] = field(default_factory=dict)

    def scope(self, v: Instruction) -> tuple[Frame, Loop | None]:
        """Where a number that `v` makes changes."""
        return self, self.flow.loop_of(v.block)

    def in_loop(self, i: Instruction) -> bool:
        """Is it run in a loop of the root?"""
        return self.looped or (len(self.stack) == 1 and self.flow.loop_of(i.block) is not None)


class Numbers(ABC):
    """Evaluates integers. Where pointers lead, and what memory holds, the reader of accesses says (`Reader`)."""

    def __init__(self, needs: dict[tuple[Poly, int, int], None]) -> None:
        self.needs = needs

    @abstractmethod
    def pointer(self, f: Frame, v: AnyValue) -> Places:
        """The places that a pointer may have; Refused where that is not known."""

    @abstractmethod
    def from_memory(self, f: Frame, load: Load) -> Poly | None:
        """An integer that is read from memory, if that is known at the entry."""

    def number(self, f: Frame, v: AnyValue) -> Poly | None:
        if isinstance(v, ConstInt):
            return Poly.of(v.signed)
        if v not in f.numbers:
            f.numbers[v] = None
            f.numbers[v] = self._number(f, v)
        return f.numbers[v]

    def need(self, p: Poly, low: int = _LOWEST, high: int = _HIGHEST) -> Poly:
        if (c := p.constant) is None or not low <= c <= high:
            self.needs[p, low, high] = None
        return p

    def fits(self, p: Poly | None, t: Type) -> Poly | None:
        """A result that may have wrapped."""
        if p is None or not isinstance(t, IntType):
            return None
        return p if t.bits == 64 else self.need(p, -(1 << t.bits - 1), (1 << t.bits - 1) - 1)

    def _number(self, f: Frame, v: AnyValue) -> Poly | None:
        if not isinstance(v.type, IntType) or v.type.bits > 64:
            return None
        match v:
            case Argument():
                return f.given.get(v)
            case Binary():
                return self.binary(f, v)
            case Cast():
                return self.cast(f, v)
            case Phi():
                loop = f.flow.loop_of(v.block)
                if loop is not None and loop.header is v.block:
                    return self.induction(f, v, loop) or self.unchanged(f, v)
                return self.one_of(f, v, [self.number(f, x) for x, b in v.incoming() if b in f.flow])
            case Select():
                return self.one_of(f, v, [self.number(f, x) for x in (v.if_true, v.if_false)])
            case Load():
                return self.from_memory(f, v)
            case Call() if (callee := v.called_function) is not None:
                return self.intrinsic(f, v, callee.name.split(".")[1:2])
        return None

    def one_of(self, f: Frame, v: Instruction, parts: list[Poly | None]) -> Poly | None:
        known = [p for p in parts if p is not None]
        return hull(known, f.scope(v)) if len(known) == len(parts) <= MOST_PLACES else None

    def intrinsic(self, f: Frame, call: Call, name: list[str]) -> Poly | None:
        if name and name[0] in ("smin", "smax", "umin", "umax"):
            a, b = (self.number(f, x) for x in call.arguments)
            if a is None or b is None:
                return None
            if name[0][0] == "u":
                self.need(a, 0)
                self.need(b, 0)
            up = name[0][1:] == "max"
            if a.pure and b.pure:
                return extreme((a, b), up, True)
            low, high = extreme((a, b), up, False), extreme((a, b), up, True)
            return Poly.of(Between(low, high, True, f.scope(call)))
        return None

    def binary(self, f: Frame, v: Binary) -> Poly | None:
        if v.opcode == "and" and isinstance(v.rhs, ConstInt):
            return self.masked(f, v, v.rhs)
        a, b = self.number(f, v.lhs), self.number(f, v.rhs)
        if v.opcode in ("srem", "urem") and b is not None:
            return self.remainder(f, v, a, self.need(b, 1))
        return None if a is None or b is None else self.computed(f, v, a, b)

    def remainder(self, f: Frame, v: Binary, a: Poly | None, b: Poly) -> Poly:
        """Of a division by at least 1: on the dividend's side of zero, no farther than that, and nearer than `b`."""
        if v.opcode == "urem":
            return Poly.of(Between(Poly.of(0), b - 1, True, f.scope(v)))

        def low(w: Writer) -> Value:
            least = w.least(Poly.of(1) - b)
            with suppress(Unbounded):
                least = w.larger(least, w.smaller(w.least(a), 0)) if a is not None else least
            return least

        return Poly.of(Between(Poly.of(Known(low)), b - 1, True, f.scope(v)))

    def computed(self, f: Frame, v: Binary, a: Poly, b: Poly) -> Poly | None:
        by = v.rhs.signed if isinstance(v.rhs, ConstInt) else None
        match v.opcode:
            case "add":
                found = a + b
            case "sub":
                found = a - b
            case "or" if "disjoint" in v.flags:
                return a + b
            case "mul":
                found = a * b
            case "shl" if isinstance(v.type, IntType) and by is not None and 0 <= by < v.type.bits - 1:
                found = a * (1 << by)
            case "xor" if by == -1:
                return Poly.of(-1) - a
            case "xor" | "or" if by is not None and by >= 0:  # changes that many at most
                return self.need(a) + self.within(f, v, -by if v.opcode == "xor" else 0, by)
            case "sdiv" | "udiv" if by is not None and by > 0:
                return self.quotient(f, v, a, by)
            case "ashr" | "lshr" if by is not None and 0 <= by < 63:
                return self.shifted(f, v, a, by)
            case _:
                return None
        return found if "nsw" in v.flags else self.fits(found, v.type)

    def masked(self, f: Frame, v: Binary, mask: ConstInt) -> Poly | None:
        n = mask.signed
        if n >= 0 and n & (n + 1) == 0 and n.bit_length() >= _WIDE:
            a = self.number(f, v.lhs)
            return None if a is None else self.need(a, 0, n)
        if n >= 0:
            return self.within(f, v, 0, n)
        if -n & (-n - 1) == 0:
            a = self.number(f, v.lhs)
            return None if a is None else self.need(a) - self.within(f, v, 0, -n - 1)
        return None

    def quotient(self, f: Frame, v: Binary, a: Poly, n: int) -> Poly:
        self.need(a, 0 if v.opcode == "udiv" else _LOWEST)
        whole = a.divided(n)
        return mapped(a, lambda w, x: w.quotient(x, n), f.scope(v)) if whole is None else whole

    def shifted(self, f: Frame, v: Binary, a: Poly, bits: int) -> Poly:
        self.need(a, 0 if v.opcode == "lshr" else _LOWEST)
        whole = a.divided(1 << bits)
        return mapped(a, lambda w, x: w.shifted(x, bits), f.scope(v)) if whole is None else whole

    def within(self, f: Frame, v: Instruction, low: int, high: int) -> Poly:
        return Poly.of(Between(Poly.of(low), Poly.of(high), True, f.scope(v)))

    def cast(self, f: Frame, v: Cast) -> Poly | None:
        inner = v.value.type
        if not isinstance(inner, IntType) or not isinstance(v.type, IntType):
            return None
        a = self.number(f, v.value) if inner.bits >= 8 else None
        half = 1 << inner.bits - 1
        match v.opcode:
            case "zext" if a is None and inner.bits <= 16:
                return self.within(f, v, 0, 2 * half - 1)
            case "sext" if a is None and inner.bits <= 16:
                return self.within(f, v, -half, half - 1)
            case "zext":
                return a if a is None or "nneg" in v.flags else self.need(a, 0)
            case "sext":
                return a
            case "trunc" if a is not None and v.type.bits >= 8:
                return a if "nsw" in v.flags else self.fits(a, v.type)
        return None

    # --- loops

    def iteration(self, f: Frame, loop: Loop) -> Between:
        """How many iterations of the loop are over: from 0 to the times it goes round, which are counted at the end."""
        if loop not in f.iterations:
            f.iterations[loop] = Between(Poly.of(0), None, scope=(f, loop))
        return f.iterations[loop]

    def induction(self, f: Frame, phi: Phi, loop: Loop) -> Poly | None:
        pairs = [(v, b) for v, b in phi.incoming() if b in f.flow]
        starts = list(dict.fromkeys(v for v, b in pairs if b not in loop))
        nexts = list(dict.fromkeys(v for v, b in pairs if b in loop))
        if len(starts) != 1 or len(nexts) != 1 or (start := self.number(f, starts[0])) is None:
            return None
        total, exact, at = Poly.of(0), True, nexts[0]
        while at is not phi:
            step, more, flags = self.summand(f, loop, at)
            if step is None or more is None:
                return None
            total, exact, at = total + step, exact and "nsw" in flags, more
        if not self.steady(f, loop, total):
            return None
        found = start + total * Poly.of(self.iteration(f, loop))
        return found if exact else self.fits(found, phi.type)

    def unchanged(self, f: Frame, phi: Phi) -> Poly | None:
        """A field that each iteration reads again, for the next one (LLVM's load PRE makes such phis)."""
        found = {self.number(f, v) for v, b in phi.incoming() if b in f.flow}
        only = found.pop() if len(found) == 1 else None
        return only if only is not None and only.pure else None

    def summand(self, f: Frame, loop: Loop, v: AnyValue) -> tuple[Poly | None, AnyValue | None, frozenset[str]]:
        """What is added to what: an increment taken apart."""
        match v:
            case Binary("add", lhs, rhs) if rhs not in loop:
                return self.number(f, rhs), lhs, v.flags
            case Binary("add", lhs, rhs) if lhs not in loop:
                return self.number(f, lhs), rhs, v.flags
            case Binary("sub", lhs, rhs) if rhs not in loop:
                n = self.number(f, rhs)
                return None if n is None else n * -1, lhs, v.flags
        return None, None, frozenset()

    def steady(self, f: Frame, loop: Loop, p: Poly) -> bool:
        """Is all that the polynomial is about the same while the loop runs?"""
        return all(_outside(x.scope, f, loop) for m in p.terms for x in m if isinstance(x, Between))

    def advance(self, f: Frame, loop: Loop, times: Between, steps: list[Poly | None]) -> Poly | None:
        """How far a pointer has gone that is moved by one of `steps` in each iteration."""
        known = [s for s in steps if s is not None]
        if len(known) < len(steps):
            return None
        if len(set(known)) == 1 and self.steady(f, loop, known[0]):
            return known[0] * Poly.of(times)

        def far(w: Writer, up: bool) -> Value:
            each: Value = 0
            for s in known:
                each = w.larger(each, w.most(s)) if up else w.smaller(each, w.least(s))
            return w.multiply(w.larger(w.most(Poly.of(times)), 0), each)

        low, high = Known(lambda w: far(w, False)), Known(lambda w: far(w, True))
        return Poly.of(Between(Poly.of(low), Poly.of(high), True, (f, loop)))

    def count(self, f: Frame, loop: Loop, block: Block, out: Block, made: Between) -> bool:
        """Find the most times that the loop goes round, from one of its exits."""
        branch = block.terminator
        each_time = f.flow.loop_of(block) is loop and all(f.flow.dominates(block, x) for x in loop.latches)
        if not each_time or not isinstance(branch, Branch) or len(branch.targets) != 2 or branch.condition is None:
            return False
        stay = branch.targets[1] is out
        if branch.targets[0] is branch.targets[1]:
            return False
        return any(self.bounded(f, loop, c, positive, made) for c, positive in tests(branch.condition, stay))

    def bounded(self, f: Frame, loop: Loop, test: Compare, positive: bool, made: Between) -> bool:
        if test.opcode != "icmp" or not isinstance(test.lhs.type, (IntType, PointerType)):
            return False
        predicate = test.predicate if positive else OPPOSITE[test.predicate]
        found = self.compared(f, test)
        if found is None:
            return False
        (a, s), (b, t) = (p.split(made) for p in found)
        if s.constant == 0:
            (a, s), (b, t), predicate = (b, t), (a, s), SWAPPED[predicate]
        step = s.constant
        if t.constant != 0 or not step or not (self.steady(f, loop, a) and self.steady(f, loop, b)):
            return False
        return self.ends(f, loop, predicate, a, step, b, test, made)

    def compared(self, f: Frame, test: Compare) -> tuple[Poly, Poly] | None:
        if isinstance(test.lhs.type, IntType):
            a, b = self.number(f, test.lhs), self.number(f, test.rhs)
            return None if a is None or b is None else (a, b)
        ends = [self.pointer(f, x) for x in (test.lhs, test.rhs)]
        if any(len(p) != 1 or p[0].base is None or p[0].offset is None for p in ends):
            return None
        (p,), (q,) = ends
        return (p.offset, q.offset) if p.base is q.base and p.offset and q.offset else None

    def ends(
        self, f: Frame, loop: Loop, predicate: str, a: Poly, step: int, b: Poly, test: Compare, made: Between
    ) -> bool:
        """The loop stays while a + i * step `predicate` b."""
        size, up = abs(step), step > 0
        distance = b - a if up else a - b
        alone = len(loop.exits) == 1
        if predicate == "eq":
            made.high, made.met = Poly.of(1), True
            return True
        self.need(a)
        self.need(b)
        if predicate == "ne":
            times = distance.divided(size)
            if times is None:
                return False
            wide = not isinstance(test.lhs.type, IntType) or test.lhs.type.bits == 64
            if not (alone and wide):
                self.need(times, 0)
            made.high, made.met = times, True
            return True
        if (predicate[1] == "l") != up:
            return False
        tested = a + Poly.of(made) * step
        self.need(tested, 0 if predicate[0] == "u" else _LOWEST)
        if predicate[0] == "u":
            self.need(b, 0 if predicate.endswith("t") else 1)
        distance += size if predicate.endswith("e") else size - 1
        whole = distance.divided(size)
        made.high = mapped(distance, lambda w, x: w.quotient(x, size), made.scope) if whole is None else whole
        return True


def tests(condition: AnyValue, stay: bool) -> list[tuple[Compare, bool]]:
    """Comparisons of which each must hold (or not) for the branch to go where it stays (`stay`: if it is true)."""
    match condition:
        case Compare():
            return [(condition, stay)]
        case Binary("xor", lhs, ConstInt(value=1)):
            return tests(lhs, not stay)
        case Binary("and", lhs, rhs) if stay:
            return [*tests(lhs, True), *tests(rhs, True)]
        case Binary("or", lhs, rhs) if not stay:
            return [*tests(lhs, False), *tests(rhs, False)]
        case Select(first, second, ConstInt(value=0)) if stay:
            return [*tests(first, True), *tests(second, True)]
        case Select(first, ConstInt(value=1), second) if not stay:
            return [*tests(first, False), *tests(second, False)]
    return []


def merged(v: Phi | Select, flow: Flow) -> list[AnyValue]:
    """What a phi or a select may be."""
    return [x for x, b in v.incoming() if b in flow] if isinstance(v, Phi) else [v.if_true, v.if_false]


def _outside(scope: object, f: Frame, loop: Loop) -> bool:
    """Does what changes there stay the same while the loop runs? What callers hand on does."""
    if scope is None:
        return True
    assert isinstance(scope, tuple)
    frame, changing = scope
    return frame is not f or changing is None or (changing is not loop and changing.encloses(loop))
