"""Facts of what a pointer may point to, as numbers: an object and a spot in it; and sets of them that do not repeat
themselves.

A fact is `object << BITS | code` of a spot: 0 for any, offset + _BIAS, or a small number for a stride and a remainder.
Offsets outside [_LOW, _HIGH) become any; more than _MOST spots of one object in one set are joined. What one fact says
with another is in a set once: facts of single places are left out beside one of any place of their object, and facts
of objects that code outside was handed beside the one that stands for all such.
"""

from __future__ import annotations

from collections.abc import Set

from llgrad.analysis.memory.cells import LARGEST_STRIDE, Spot, includes, joined, moved
from llgrad.analysis.solver import Shift

BITS = 20
_MASK = (1 << BITS) - 1
_BIAS = 1 << (BITS - 1)
_LOW, _HIGH = -4096, 1 << 16
_MOST = 16


def fact_of(index: int, spot: Spot) -> int:
    """The fact: that spot of the object with this number."""
    return index << BITS | _code(spot)


def spot_of(fact: int) -> Spot:
    """Where in its object."""
    code = fact & _MASK
    if not code:
        return None
    return code - _BIAS if code >= _BIAS + _LOW else divmod(code, LARGEST_STRIDE)


def _code(spot: Spot) -> int:
    match spot:
        case (stride, remainder):
            return stride * LARGEST_STRIDE + remainder
        case int() if _LOW <= spot < _HIGH:
            return spot + _BIAS
    return 0


class FactSets:
    """The sets at the nodes of a system of constraints (see `solver.Propagation`).

    `anything` stands for all objects in `exposed`, which grows.
    """

    def __init__(self, exposed: Set[int]) -> None:
        self.anything = -1
        self._exposed = exposed
        self._narrow: dict[int, dict[int, list[int]]] = {}  # of a node, by object: what was entered of its places
        self._wide: dict[tuple[int, int], tuple[Spot, ...]] = {}  # those with a stride that others were joined to

    def shift(self, fact: int, by: Shift) -> int:
        """The fact that is `by` further on."""
        code = fact & _MASK
        return fact ^ code | _code(moved(spot_of(fact), by)) if code else fact

    def enter(self, node: int, known: set[int], new: Set[int]) -> set[int]:
        """Put into `known` what it does not say already, take out what is said then, and return what was put in."""
        entered: set[int] = set()
        narrow = self._narrow.setdefault(node, {})
        handed = self._exposed if self.anything in known or self.anything in new else ()
        for fact in new:
            if not fact & _MASK and (fact == self.anything or fact >> BITS not in handed):
                known.difference_update(narrow.pop(fact, ()))
                entered.add(fact)
        known |= entered
        for fact in new:
            anywhere = fact & ~_MASK
            if anywhere != fact and anywhere not in known and fact >> BITS not in handed:
                self._enter_place(node, known, narrow.setdefault(anywhere, []), fact, entered)
        if self.anything in entered:
            said = {fact for fact in known if fact >> BITS in handed and fact != self.anything}
            known -= said
        return entered & known

    def _enter_place(self, node: int, known: set[int], places: list[int], fact: int, entered: set[int]) -> None:
        """A fact of some places of an object. Many of them are joined."""
        spot, key = spot_of(fact), (node, fact & ~_MASK)
        wide = self._wide.get(key, ())
        if wide and any(includes(w, spot) for w in wide):
            return
        if len(places) >= _MOST:
            spot = joined([spot, *map(spot_of, places)]) if len(places) < 2 * _MOST else None
            known.difference_update(places)
            fact = key[1] | _code(spot)
        if isinstance(spot, tuple):
            self._wide[key] = (*wide, spot)
        if fact != key[1]:
            places.append(fact)
        known.add(fact)
        entered.add(fact)

    def join(self, node: int, other: int, known: set[int]) -> None:
        """`known` is what was known at both nodes, and is from now on at `other`."""
        places = self._narrow.setdefault(other, {})
        for anywhere, more in self._narrow.pop(node, {}).items():
            places.setdefault(anywhere, []).extend(more)
        for anywhere in [a for a in places if a in known]:
            known.difference_update(places.pop(anywhere))
