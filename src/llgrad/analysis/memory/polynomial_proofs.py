"""Proofs that a polynomial (`polynomial_bounds`) is never negative, from bounds of its unknowns and from facts on the
way there.

A `Fact` is a polynomial that is at least 0 where it is asked. `proven(p, facts)` says whether p ≥ 0 follows by what is
tried: unknowns that p is linear in are put at the ends of their bounds (a linear function is least at an end), others
are replaced by what they exceed their least value by (then no term may be negative), facts that cancel terms are
subtracted, and p = rest + factor * x is split where x ≥ 0. "No" means "not found".
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from llgrad.analysis.memory.polynomial_bounds import Between, Poly, Unknown

MOST_STEPS = 300
_DEEPEST = 6


Need = tuple[Poly, int, int]
"""A polynomial, and what it must be at least and at most: a test for whoever relies on what was found."""


class Fact(Struct, frozen=True):
    """`poly` ≥ 0, if all needs are met."""

    poly: Poly
    needs: frozenset[Need] = frozenset()


class Proof:
    """What was tried for one question, and the facts that the answer relies on."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.facts, self.steps = tuple(facts), MOST_STEPS
        self.used: dict[Fact, None] = {}

    def shows(self, p: Poly, depth: int = _DEEPEST) -> bool:
        """Is p ≥ 0?"""
        if (c := p.constant) is not None:
            return c >= 0
        self.steps -= 1
        if depth == 0 or self.steps < 0:
            return False
        tried = self._by_one_fact(p) or self._by_excess(p) or self._by_ends(p, depth)
        return tried or self._by_split(p, depth) or self._by_facts(p, depth)

    def _relying(self, fact: Fact) -> bool:
        self.used[fact] = None
        return True

    def _by_one_fact(self, p: Poly) -> bool:
        """p = times * fact + a number that is not negative."""
        for fact in self.facts:
            times = _times(p, fact.poly)
            rest = (p - fact.poly * times).constant if times else None
            if rest is not None and rest >= 0:
                return self._relying(fact)
        return False

    def _by_excess(self, p: Poly) -> bool:
        """All unknowns are larger than a number, and no term in what they are larger by is negative."""
        relied: list[Fact] = []
        for x in _unknowns(p):
            low = x.low.constant if isinstance(x, Between) and x.low is not None else None
            if low is None:
                least = [(-f.poly.terms.get((), 0), f) for f in self.facts if f.poly - Poly.of(x) == _only(f.poly)]
                if not least:
                    return False
                low, fact = max(least, key=lambda found: found[0])
                relied.append(fact)
            p = put(p, x, Poly.of(x) + low)
        if any(c < 0 for c in p.terms.values()):
            return False
        self.used.update(dict.fromkeys(relied))
        return True

    def _by_ends(self, p: Poly, depth: int) -> bool:
        for x in sorted(_unknowns(p), key=lambda x: -x.number):
            if isinstance(x, Between) and x.low is not None and x.high is not None:
                factor = p.split(x)[1]
                if any(x in m for m in factor.terms):
                    return False
                low, high = put(p, x, x.low), put(p, x, x.high)
                worse, other = (low, high) if (factor.constant or -1) > 0 else (high, low)
                known = factor.constant is not None and (x.met or self.shows(x.high - x.low, depth - 1))
                return self.shows(worse, depth) and (known or self.shows(other, depth))
        return False

    def _by_split(self, p: Poly, depth: int) -> bool:
        for x in _unknowns(p):
            rest, factor = p.split(x)
            split = factor.constant is None and self._is_positive(x)
            if split and self.shows(factor, depth - 1) and self.shows(rest, depth - 1):
                return True
        return False

    def _is_positive(self, x: Unknown) -> bool:
        low = x.low.constant if isinstance(x, Between) and x.low is not None else None
        return low is not None and low >= 0 or self._by_one_fact(Poly.of(x))

    def _by_facts(self, p: Poly, depth: int) -> bool:
        for fact in self.facts:
            if (times := _times(p, fact.poly)) and self.shows(p - fact.poly * times, depth - 2 if depth > 2 else 0):
                return self._relying(fact)
        return False


_ZERO = Poly.of(0)


def _only(p: Poly) -> Poly:
    """The number that is added to the rest of a polynomial."""
    return Poly.of(p.terms.get((), 0))


def put(p: Poly, x: Unknown, value: Poly) -> Poly:
    """The polynomial with `value` in the place of `x`."""
    found, power = _ZERO, Poly.of(1)
    while p != _ZERO:
        rest, p = p.split(x)
        found, power = found + rest * power, power * value
    return found


def _unknowns(p: Poly) -> list[Unknown]:
    return list(dict.fromkeys(x for m in p.terms for x in m))


def _times(p: Poly, fact: Poly) -> int:
    """How often `fact` is to be subtracted, so that a term of p goes; 0 if it has none."""
    for m, c in fact.terms.items():
        if m and (d := p.terms.get(m, 0)) and (d > 0) == (c > 0) and d % c == 0:
            return d // c
    return 0
