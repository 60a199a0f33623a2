"""Sizes in terms of a function's integer arguments, as data: what bytes it may write, and what must hold for that.

A polynomial (`polynomial_bounds`) lives as long as its unknowns; a `Sum` can be kept, compared, printed, and evaluated
where the arguments are given, be they integers or what a framework has for integers that are not known yet. `Sizes`
makes them:
iterations and the like are replaced by their bounds.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from llgrad.analysis.memory.polynomial_bounds import Known, Poly, Unbounded, extreme
from llgrad.analysis.memory.polynomial_proofs import Fact, Need, Proof, put

Pick = tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]


class Extreme(Struct, frozen=True):
    """The largest, or the smallest, of some sums."""

    largest: bool
    of: tuple[Sum, ...]


class Sum(Struct, frozen=True):
    """A sum of products with factors; a factor that is an integer here is that IR argument."""

    terms: tuple[tuple[int, tuple[int | Extreme, ...]], ...]

    def value(self, given: Mapping[int, Any], pick: Pick = (min, max)) -> Any:
        """Its value for these arguments, by their positions; `pick` takes the least and the largest of two numbers."""
        products = (functools.reduce(operator.mul, (_factor(x, given, pick) for x in xs), c) for c, xs in self.terms)
        return sum(products, start=0)

    def text(self, names: Sequence[str], unit: int = 1) -> str:
        """How one would write it, in units of so many bytes; empty where it is no polynomial or does not divide."""
        if any(c % unit or any(isinstance(x, Extreme) for x in xs) for c, xs in self.terms):
            return ""
        products = []
        for c, xs in sorted(self.terms, key=lambda term: -len(term[1])):
            number = [str(c // unit)] if c != unit or not xs else []
            products.append("*".join([*number, *(_name(x, names) for x in xs)]))
        return " + ".join(products).replace("+ -", "- ") or "0"


class Piece(Struct, frozen=True):
    """Bytes [low, high) from an argument that may be written if all `conditions` are at least 0."""

    conditions: tuple[Sum, ...]
    low: Sum
    high: Sum


class Written(Struct, frozen=True):
    """All that may be written through an argument, if all `tests` are at least 0."""

    pieces: tuple[Piece, ...]
    tests: tuple[Sum, ...]

    def ends(self, given: Mapping[int, int]) -> tuple[int, int] | None:
        """The first byte and the one behind the last for these integers; None where that is not known."""
        if not hold(self.tests, given):
            return None
        real = [(p.low.value(given), p.high.value(given)) for p in self.pieces if hold(p.conditions, given)]
        real = [(low, high) for low, high in real if low < high]
        return min((low for low, _ in real), default=0), max((high for _, high in real), default=0)


def hold(tests: Iterable[Sum], given: Mapping[int, int]) -> bool:
    """Are all of them at least 0?"""
    return all(t.value(given) >= 0 for t in tests)


def _name(x: int | Extreme, names: Sequence[str]) -> str:
    assert isinstance(x, int)
    return names[x]


def _factor(x: int | Extreme, given: Mapping[int, Any], pick: Pick) -> Any:
    if isinstance(x, Extreme):
        return functools.reduce(pick[x.largest], [s.value(given, pick) for s in x.of])
    return given[x]


class Sizes:
    """Makes sums of polynomials. `numbers`: which argument an unknown is."""

    def __init__(self, numbers: Mapping[Known, int]) -> None:
        self.known: dict[Known, int | Extreme] = dict(numbers)

    def piece(self, low: Poly, high: Poly, facts: Iterable[Fact]) -> Piece:
        """What an access writes, where facts hold. Raises Unbounded."""
        facts = tuple(facts)
        first, last = self.bound(low, False, facts), self.bound(high, True, facts)
        conditions = [f.poly for f in facts if f.poly.pure and not f.needs]
        sums = tuple(s for s in map(self._said, conditions) if s is not None)
        return Piece(sums, self.sum(first), self.sum(last))

    def tests(self, needs: Iterable[Need]) -> tuple[Sum, ...]:
        """What must be at least 0 for needs to be met. Raises Unbounded."""
        found: dict[Sum, None] = {}
        for p, least, most in needs:
            for q in (self.bound(p, False, ()) - least, self.bound(p, True, ()) * -1 + most):
                if (c := q.constant) is None or c < 0:
                    found[self.sum(q)] = None
        return tuple(found)

    def bound(self, p: Poly, up: bool, facts: tuple[Fact, ...]) -> Poly:
        """What no value of the polynomial is beyond, without iterations. Raises Unbounded."""
        x = p.youngest()
        if x is None:
            return p
        factor = p.split(x)[1]
        if x.low is None or x.high is None or any(x in m for m in factor.terms):
            raise Unbounded("a loop's count, or a number, is not known at the entry")
        rising = Proof(facts).shows(factor)
        if (rising or Proof(facts).shows(factor * -1)) and (x.met or Proof(facts).shows(x.high - x.low)):
            return self.bound(put(p, x, x.high if rising == up else x.low), up, facts)
        ends = tuple(self.bound(put(p, x, end), up, facts) for end in (x.low, x.high))
        for one, other in (ends, ends[::-1]):
            if Proof(facts).shows(one - other):
                return one if up else other
        sums = (self.sum(ends[0]), self.sum(ends[1]))
        made = extreme(ends, up, up)
        ((unknown,),) = made.terms
        assert isinstance(unknown, Known)
        self.known[unknown] = Extreme(up, sums)
        return made

    def sum(self, p: Poly) -> Sum:
        """Raises Unbounded where an unknown is no argument."""
        made = self._said(p)
        if made is None:
            raise Unbounded("a number is not known at the entry")
        return made

    def _said(self, p: Poly) -> Sum | None:
        terms = []
        for m, c in p.terms.items():
            xs = [self.known.get(x) if isinstance(x, Known) else None for x in m]
            if any(x is None for x in xs):
                return None
            terms.append((c, tuple(sorted((x for x in xs if x is not None), key=str))))
        return Sum(tuple(sorted(terms, key=str)))
