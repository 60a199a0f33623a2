"""Who says what lies somewhere: the instructions whose evidence disagrees, for an error to name.

`Graph.said` keeps, of each piece of evidence, which instruction it was made for. From the slots of a region evidence is
followed back the way it came, by the fewest edges, to one that said it. Only errors ask for it.

    %i = load i64, ptr %p        ; the 8 bytes at %p are in conflict
    witnesses(graph, [cell of %p], 8)  ->  (double, the load of a double in g), (integer, the `add` of what h reads)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import Any

from msgspec import Struct

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.types.constraints import Graph
from llgrad.analysis.types.declared_types import Token, token_scalars
from llgrad.analysis.types.regions import CONFLICT_BIT, Edge, Region, declared, find, positions
from llgrad.ir import values as iv

_INTEGER = bl.INT_MASK | bl.LIKELY_INT
_MOST = 20_000  # slots that are looked at for one reading

Key = tuple[int, int]
Place = tuple[Region, int]


class Witness(Struct, frozen=True):
    """What was said of some bytes (`mask`: a float's bit, a pointer's or those of integers), and for which
    instruction, function or variable; `by_type`: a type says so, no access."""

    mask: int
    source: Any
    by_type: bool = False

    @property
    def reading(self) -> str:
        """What the evidence or type calls the bytes."""
        formats = [name for name, bit in bl.FLOAT_BIT.items() if self.mask & bit]
        if formats:
            return f"a {'long double' if formats[0] == 'x86_fp80' else formats[0]}"
        return "a pointer" if self.mask & bl.POINTER_BIT else "an integer"

    @property
    def done(self) -> str:
        """What the source does with them."""
        match self.source:
            case iv.Instruction() if self.by_type:
                return "in the type that is accessed"
            case _ if self.by_type:
                return "declared"
            case iv.Load():
                return "read"
            case iv.Store():
                return "written"
            case iv.Call() if (f := self.source.called_function) is not None:
                return "copied" if "mem" in f.name else f"taken by {f.name}"
            case iv.Call():
                return "passed"
            case iv.GetElementPtr():
                return "an index"
            case iv.Instruction():
                return "computed with"
        return "declared"


class _Seen(Struct, frozen=True):
    """A slot of a region, or of what is known from the region itself (not `every`)."""

    region: Region
    key: Key
    every: bool = True


class _Said:
    """What was said of each region, by what it was merged into."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.evidence: dict[Region, list[tuple[Key, int, Any]]] = {}
        for r, key, mask, source in graph.said:
            self.evidence.setdefault(find(r), []).append((key, mask, source))
        self.types: dict[Region, list[tuple[Token, Any]]] = {}
        for r, token, source in graph.declared:
            self.types.setdefault(find(r), []).append((token, source))
        self.reasons: dict[tuple[int, Key], list[tuple[Region, Key]]] = {}
        for (n, key), reasons in graph.reasons.items():
            r = find(graph.regions[n])
            self.reasons.setdefault((r.id, r.key(*key)), []).extend((find(o), find(o).key(*k)) for o, k in reasons)


def witnesses(graph: Graph, places: Sequence[Place], size: int) -> list[Witness]:
    """Two that disagree about `size` bytes at these places (which are views of the same bytes); fewer, where no more
    are known. A float comes first."""
    said = _Said(graph)
    found: list[tuple[int, Witness]] = []
    for bits, starts in _readings(places, size).items():
        if (nearest := _nearest(said, starts, bits)) is not None:
            found.append(nearest)
    for bits, places_of in _declarations(places, size).items():
        if not any(w.mask & bits for _, w in found) and (source := _declaring(said, places_of, bits)) is not None:
            found.append((1 << 20, Witness(bits, source, True)))
    found.sort(key=lambda one: one[0])
    floats = [w for _, w in found if w.mask & bl.FLOAT_MASK]
    others = [w for _, w in found if w not in floats[:1] and (not floats or w.mask != floats[0].mask)]
    return [*floats[:1], *others[: 2 - len(floats[:1])]]


def _readings(places: Sequence[Place], size: int) -> dict[int, list[_Seen]]:
    """The slots that may share a byte with these, by what they say."""
    found: dict[int, list[_Seen]] = {}
    for region, at in places:
        r = find(region)
        for key, s in r.slots.items():
            for bits in (*(b for b in bl.FLOAT_BIT.values() if s.all & b), bl.POINTER_BIT, _INTEGER, CONFLICT_BIT):
                if s.all & bits and _meets(r, key, max(1, bl.mask_reach(s.all & bits)), at, size):
                    found.setdefault(bits, []).append(_Seen(r, key))
    doubted = found.pop(CONFLICT_BIT, [])
    if doubted and not any(bits & bl.FLOAT_MASK for bits in found):  # a float is elsewhere in the same memory
        found[bl.FLOAT_MASK | CONFLICT_BIT] = doubted
    return found


def _meets(r: Region, key: Key, reach: int, at: int, size: int) -> bool:
    step = gcd(key[1], r.period)
    if not step:
        return key[0] < at + size and at < key[0] + reach
    apart = (key[0] - at) % step
    return apart < size or step - apart < reach


def _nearest(said: _Said, starts: Iterable[_Seen], bits: int) -> tuple[int, Witness] | None:
    """Who said first what lies in these slots, and after how many edges."""
    work = deque((seen, 0) for seen in starts)
    known = {(seen.region.id, seen.key, seen.every) for seen, _ in work}
    while work and len(known) < _MOST:
        seen, far = work.popleft()
        for key, mask, source in said.evidence.get(seen.region, ()):
            if mask & bits and source is not None and seen.region.key(*key) == seen.key:
                return far, Witness(mask & bits, source)
        for other in _before(said, seen, bits):
            name = (other.region.id, other.key, other.every)
            if name not in known:
                known.add(name)
                work.append((other, far + 1))
    return None


def _before(said: _Said, seen: _Seen, bits: int) -> Iterator[_Seen]:
    """The slots from which evidence came to this one."""
    r, graph = seen.region, said.graph
    for other, key in said.reasons.get((r.id, seen.key), ()):
        if key in other.slots and other.slots[key].all & bits:
            yield _Seen(other, key)
    for e in r.edges:
        parent, child = find(e.parent), find(e.child)
        if not bits & e.only or e.over:
            continue
        if child is r and (seen.every or e.owns):
            yield from (_Seen(parent, key) for key in _came_down(graph, e, parent, child, seen.key, bits))
        if parent is r and (not e.store or graph.asks_copies(r, seen.key)):
            yield from (_Seen(child, key, False) for key in _came_up(graph, e, parent, child, seen.key, bits))


def _came_down(graph: Graph, e: Edge, parent: Region, child: Region, to: Key, bits: int) -> Iterator[Key]:
    step = graph.step(e)
    for key, s in parent.slots.items():
        if not s.all & bits:
            continue
        if step:  # what is known of other elements of the same array
            if (key[0] - e.at - to[0]) % gcd(step, key[1], to[1]) == 0:
                yield key
        elif any(child.key(*p) == to for p in positions(key, parent.period, -e.at, e.low, e.high)):
            yield key


def _came_up(graph: Graph, e: Edge, parent: Region, child: Region, to: Key, bits: int) -> Iterator[Key]:
    step = graph.step(e)
    for key, s in child.slots.items():
        if not s.up & bits:
            continue
        if step:
            places: Iterable[Key] = ((key[0], gcd(step, key[1])),)
        else:
            places = positions(key, child.period, 0, e.low, e.high)
        if any(parent.key(o + e.at, every) == to for o, every in places):
            yield key


# --- declared types --------------------------------------------------------------------------------------------------


def _declarations(places: Sequence[Place], size: int) -> dict[int, list[Place]]:
    """Places where declared types say what lies there, by what that is."""
    found: dict[int, list[Place]] = {}
    for region, at in places:
        r = find(region)
        for o in range(at, at + min(size, 16)):
            masks = {f.mask for _, f, _ in declared(r, o) if f.mask > 0}
            for mask in masks:
                bits = mask if mask & (bl.FLOAT_MASK | bl.POINTER_BIT) else _INTEGER
                found.setdefault(bits, []).append((r, o))
    return found


def _declaring(said: _Said, starts: Iterable[Place], bits: int) -> Any:
    """The first instruction, function or variable whose type speaks of a region that is related to this one."""
    work = deque((r, o) for r, o in starts)
    known = {(r.id, o) for r, o in work}
    while work and len(known) < _MOST:
        r, o = work.popleft()
        if not any(f.mask > 0 and f.mask & bits for _, f, _ in declared(r, o)):
            continue
        for token, source in said.types.get(r, ()):
            inside = token.within(o, r.period)
            if source is not None and inside is not None and any(
                f.mask > 0 and f.mask & bits for f in token_scalars(token, inside)
            ):
                return source
        for e in r.edges:
            parent, child = find(e.parent), find(e.child)
            for other, at in ((parent, o + e.at), (child, o - e.at)):
                if other is not r and (other.id, at) not in known:
                    known.add((other.id, at))
                    work.append((other, at))
    return None


__all__ = ["Witness", "witnesses"]
