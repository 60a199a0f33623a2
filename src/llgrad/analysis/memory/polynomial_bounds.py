"""Integers as polynomials in what is known when a function is entered and in what is only known to lie between bounds;
and the instructions that compute, at the entry, how small and how large such a polynomial may be.

A `Known` is a number at the entry (an argument, a quotient of arguments). A `Between` is a number that is `low` at
least and `high` at most, polynomials in what is older: the iteration of a loop is between 0 and its count. Bounds are
found by putting the bounds of the youngest `Between` in its place, so that `row * n + column` with `column < n` keeps
what the two have to do with each other. A bound is never exceeded; how far it lies off is a matter of luck.

Written arithmetic wraps around, and `Writer.failed` says where it may. Of each number it is known how far it is from
zero at most: a sum of products of what it is computed from. The largest of these sums is computed once, in checked
arithmetic: if it fits into 64 bits, all numbers do. (Checks of each were most of the test, and of LLVM's time for it.)
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import count

from msgspec import Struct, field

Value = int | str
"""A constant, or the name of an i64 that was written."""

Size = dict[tuple[str, ...], int]
"""A sum of products, times factors, of the distances from zero of numbers (each and 1): a number is no farther."""

MOST_LINES = 6_000
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_numbers = count()


class Unbounded(Exception):
    """There is no bound, or it takes too much code to compute."""


class Known(Struct, eq=False):
    """A number that `write` computes at the entry."""

    write: Callable[[Writer], Value]
    number: int = field(default_factory=lambda: next(_numbers))


class Between(Struct, eq=False):
    """A number from `low` to `high` (None: not known, or not yet).

    `met`: `low` ≤ `high` whenever the number exists. `scope`: where it changes, in terms of who made it.
    """

    low: Poly | None
    high: Poly | None
    met: bool = False
    scope: object = None
    number: int = field(default_factory=lambda: next(_numbers))


Unknown = Known | Between
Monomial = tuple[Unknown, ...]


class Poly:
    """A polynomial with integer coefficients; `terms` has no zeros."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {m: c for m, c in terms.items() if c}

    @classmethod
    def of(cls, x: Unknown | int) -> Poly:
        """A constant or an unknown."""
        return cls({(): x} if isinstance(x, int) else {(x,): 1})

    def __add__(self, other: Poly | int) -> Poly:
        terms = dict(self.terms)
        for m, c in (Poly.of(other) if isinstance(other, int) else other).terms.items():
            terms[m] = terms.get(m, 0) + c
        return Poly(terms)

    def __sub__(self, other: Poly | int) -> Poly:
        return self + (-other if isinstance(other, int) else other * -1)

    def __mul__(self, other: Poly | int) -> Poly:
        if isinstance(other, int):
            return Poly({m: c * other for m, c in self.terms.items()})
        terms: dict[Monomial, int] = {}
        for a, c in self.terms.items():
            for b, d in other.terms.items():
                m = tuple(sorted((*a, *b), key=lambda x: x.number))
                terms[m] = terms.get(m, 0) + c * d
        return Poly(terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    @property
    def constant(self) -> int | None:
        """The number that it is, if it is one."""
        return self.terms.get((), 0) if not any(self.terms) else None

    @property
    def pure(self) -> bool:
        """Is its value known at the entry?"""
        return self.youngest() is None

    def youngest(self) -> Between | None:
        """What was made last of all that is only known to lie between bounds."""
        found = [x for m in self.terms for x in m if isinstance(x, Between)]
        return max(found, key=lambda x: x.number) if found else None

    def split(self, x: Unknown) -> tuple[Poly, Poly]:
        """`rest` without `x` and `factor` such that the polynomial is rest + factor * x."""
        rest, factor = {}, {}
        for m, c in self.terms.items():
            if x in m:
                at = m.index(x)
                factor[m[:at] + m[at + 1 :]] = c
            else:
                rest[m] = c
        return Poly(rest), Poly(factor)

    def divided(self, n: int) -> Poly | None:
        """The polynomial over `n`, if all its coefficients are multiples."""
        exact = all(c % n == 0 for c in self.terms.values())
        return Poly({m: c // n for m, c in self.terms.items()}) if exact else None


def _either(a: Size, b: Size) -> Size:
    """At least as far as both."""
    return {m: max(a.get(m, 0), b.get(m, 0)) for m in (*a, *b)}


def _outermost(size: Size) -> Size:
    """As far, with fewer products: `n` is no farther than `n * m`."""
    found: Size = {}
    for m in sorted(size, key=len, reverse=True):
        over = next((n for n in found if not Counter(m) - Counter(n)), m)
        found[over] = found.get(over, 0) + size[m]
    return found


def _fitting(n: int) -> int:
    if not _LOWEST <= n <= _HIGHEST:
        raise Unbounded("a number does not fit into 64 bits")
    return n


class Writer:
    """Writes LLVM assembly; `value` gives numbers known at the entry, `least` and `most` the bounds of others."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: list[str] = []  # beside the function that the lines are in
        self.failures: dict[str, None] = {}
        self._made: dict[str, str] = {}
        self._known: dict[Known, Value] = {}
        self._bounds: dict[tuple[Poly, bool], Value] = {}
        self._fixed: dict[str, Known] = {}
        self._sizes: dict[str, Size] = {}

    def emit(self, text: str) -> str:
        """Write `%x = text`, once; the name."""
        if text not in self._made:
            if len(self.lines) > MOST_LINES:
                raise Unbounded("it takes too much code")
            self._made[text] = f"%n{len(self._made)}"
            self.lines.append(f"{self._made[text]} = {text}")
        return self._made[text]

    # --- arithmetic

    def add(self, a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return _fitting(a + b)
        if 0 in (a, b):
            return b if a == 0 else a
        size, more = self._size(a), self._size(b)
        total = {m: size.get(m, 0) + more.get(m, 0) for m in (*size, *more)}
        return self._sized(f"add i64 {a}, {b}", total)

    def multiply(self, a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return _fitting(a * b)
        if 0 in (a, b) or 1 in (a, b):
            return 0 if 0 in (a, b) else b if a == 1 else a
        product: Size = {}
        for m, c in self._size(a).items():
            for n, d in self._size(b).items():
                both = tuple(sorted(m + n))
                product[both] = product.get(both, 0) + c * d
        return self._sized(f"mul i64 {a}, {b}", product)

    def larger(self, a: Value, b: Value) -> Value:
        return self._one_of("smax", a, b, max)

    def smaller(self, a: Value, b: Value) -> Value:
        return self._one_of("smin", a, b, min)

    def _one_of(self, which: str, a: Value, b: Value, fold: Callable[[int, int], int]) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return fold(a, b)
        if a == b:
            return a
        return self._sized(f"call i64 @llvm.{which}.i64(i64 {a}, i64 {b})", _either(self._size(a), self._size(b)))

    def _size(self, v: Value) -> Size:
        if isinstance(v, int):
            return {(): abs(v)}
        return self._sizes.get(v) or {(v,): 1}

    def _sized(self, text: str, size: Size) -> str:
        name = self.emit(text)
        self._sizes[name] = size
        return name

    def checked(self, operation: str, a: Value, b: Value) -> str:
        """`sadd` or `smul` of 64 bits; where it does not fit, that is a failure."""
        pair = self.emit(f"call {{ i64, i1 }} @llvm.{operation}.with.overflow.i64(i64 {a}, i64 {b})")
        self.failures[self.emit(f"extractvalue {{ i64, i1 }} {pair}, 1")] = None
        return self.emit(f"extractvalue {{ i64, i1 }} {pair}, 0")

    def failed(self) -> list[str]:
        """Conditions under which what was written means nothing."""
        largest: Size = {}
        for size in self._sizes.values():
            largest = _either(largest, size)
        total: Value = 0
        for m, c in _outermost(largest).items():
            term: Value = _fitting(c)
            for name in m:
                term = self.checked("smul", term, self._distance(name))
            total = term if total == 0 else self.checked("sadd", total, term)
        return list(self.failures)

    def _distance(self, name: str) -> str:
        """One more than how far a number is from zero, or from -1 if it is below."""
        sign = self.emit(f"ashr i64 {name}, 63")
        return self.checked("sadd", self.emit(f"xor i64 {name}, {sign}"), 1)

    def quotient(self, a: Value, n: int) -> Value:
        """Rounded towards zero; n > 0."""
        if isinstance(a, int):
            return abs(a) // n * (1 if a >= 0 else -1)
        return a if n == 1 else self._sized(f"sdiv i64 {a}, {n}", self._size(a))

    def shifted(self, a: Value, bits: int) -> Value:
        """Rounded down."""
        return a >> bits if isinstance(a, int) else self._sized(f"ashr i64 {a}, {bits}", self._size(a))

    def least_of(self, values: Iterable[Value]) -> Value:
        return functools.reduce(self.smaller, values)

    def most_of(self, values: Iterable[Value]) -> Value:
        return functools.reduce(self.larger, values)

    def fixed(self, v: Value) -> Poly:
        """A number that was written already."""
        if isinstance(v, str) and v not in self._fixed:
            self._fixed[v] = Known(lambda _: v)
        return Poly.of(v if isinstance(v, int) else self._fixed[v])

    def within(self, p: Poly, low: int, high: int) -> None:
        """Fail where the polynomial may be something else."""
        self._require("sge", self.least(p), low)
        self._require("sle", self.most(p), high)

    def _require(self, predicate: str, a: Value, b: int) -> None:
        if b in (_LOWEST, _HIGHEST):
            return
        if isinstance(a, int):
            if not {"sge": a >= b, "sle": a <= b}[predicate]:
                raise Unbounded("a number is never in its range")
            return
        opposite = {"sge": "slt", "sle": "sgt"}[predicate]
        self.failures[self.emit(f"icmp {opposite} i64 {a}, {b}")] = None

    # --- polynomials

    def value(self, p: Poly) -> Value:
        """The value of a polynomial that is known at the entry."""
        total: Value = 0
        for m, c in p.terms.items():
            term: Value = c
            for x in m:
                assert isinstance(x, Known)
                if x not in self._known:
                    self._known[x] = x.write(self)
                term = self.multiply(term, self._known[x])
            total = self.add(total, term)
        return total

    def least(self, p: Poly) -> Value:
        """What no value of the polynomial is below."""
        return self._bound(p, False)

    def most(self, p: Poly) -> Value:
        """What no value of the polynomial exceeds."""
        return self._bound(p, True)

    def _bound(self, p: Poly, up: bool) -> Value:
        if (p, up) not in self._bounds:
            x = p.youngest()
            self._bounds[p, up] = self.value(p) if x is None else self._bound(self._without(p, x, up), up)
        return self._bounds[p, up]

    def _without(self, p: Poly, x: Between, up: bool) -> Poly:
        """A polynomial without `x` that is beyond `p`, as closely as it may."""
        if x.low is None or x.high is None:
            raise Unbounded("a loop's count, or a number, is not known at the entry")
        rest, factor = p.split(x)
        if not factor.pure:
            return rest + self._product(factor, x, up)
        low, high = x.low, x.high
        if not x.met:
            high = low + self.fixed(self.larger(self.most(high - low), 0))
        if (c := factor.constant) is not None:
            return rest + (high if (c > 0) == up else low) * c
        n = self.value(factor)
        above, below = self.fixed(self.larger(n, 0)), self.fixed(self.smaller(n, 0))
        return rest + (above * high + below * low if up else above * low + below * high)

    def _product(self, factor: Poly, x: Between, up: bool) -> Poly:
        alone = Poly.of(x)
        ends = [(self.least(p), self.most(p)) for p in (factor, alone)]
        corners = [self.multiply(a, b) for a in ends[0] for b in ends[1]]
        found = corners[0]
        for c in corners[1:]:
            found = self.larger(found, c) if up else self.smaller(found, c)
        return self.fixed(found)


def hull(parts: Iterable[Poly], scope: object) -> Poly:
    """Something from the least of the parts to the largest."""
    given = list(dict.fromkeys(parts))
    if len(given) == 1:
        return given[0]
    return Poly.of(Between(extreme(given, False, False), extreme(given, True, True), True, scope))


def extreme(parts: Iterable[Poly], larger: bool, most: bool) -> Poly:
    """The larger (the smaller) of what the parts are at most (at least)."""
    first, *others = parts

    def write(w: Writer) -> Value:
        found = w.most(first) if most else w.least(first)
        for p in others:
            v = w.most(p) if most else w.least(p)
            found = w.larger(found, v) if larger else w.smaller(found, v)
        return found

    return Poly.of(Known(write))


def mapped(p: Poly, apply: Callable[[Writer, Value], Value], scope: object) -> Poly:
    """`apply` to the number; it must never fall where its operand grows."""
    if p.pure:
        return Poly.of(Known(lambda w: apply(w, w.value(p))))
    low, high = Known(lambda w: apply(w, w.least(p))), Known(lambda w: apply(w, w.most(p)))
    return Poly.of(Between(Poly.of(low), Poly.of(high), True, scope))
