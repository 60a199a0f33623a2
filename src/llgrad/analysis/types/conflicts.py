"""Second thoughts on integers: arithmetic alone does not prove that memory holds integers.

A program may read the bits of a double as an integer and flip its sign. So where all that makes a byte an integer is
how its value is used, anything that may be a float there makes it a conflict: a declared float, an array of floats of
unknown length that may reach it, a float seen where the pointer came from, or what that is a row of. That TBAA calls
an access an integer, or that one is declared, proves it: work arrays are shared by types. But not where floats come or
go by accesses without a float's type, as `memcpy` does (`Region.untyped`). And a function that takes a `long *` may be
handed an element of an array of doubles, to change its exponent: where integers are seen by such functions alone, as
large as the array's floats and at their places, and no pointers lie there, they are doubted, too. Where nothing is done
with an integer but moving it, a declared type is none: a loop over an `int *` may copy doubles in halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.solver import reach
from llgrad.analysis.types.constraints import Graph
from llgrad.analysis.types.declared_types import DECLARED, LLVM_TYPE, Token, token_scalars
from llgrad.analysis.types.regions import CONFLICT_BIT, Edge, Region, Slot, declared, find, positions

ENDLESS = 1 << 62
_MOST_VIEWS = 64
_WIDEST = 64  # bytes of a vector


def suspect_integers(graph: Graph) -> None:
    """Mark what only use makes an integer and what may be a float; and what was derived from it.

    What did not change since it was last looked at is not looked at again.
    """
    for r in graph.regions:
        if r.merged_into is None and r.suspected != r.state:
            r.suspected = r.state
            reaches = ((at, step, bl.mask_reach(f.all & bl.FLOAT_MASK)) for (at, step), f in r.slots.items() if step)
            rows = [row for row in reaches if row[2]]
            for key, s in list(r.slots.items()):
                if _by_use_only(s) and _may_be_float(r, key, s, rows):
                    graph.doubt(r, key)
    untyped = _untyped(graph)
    for e in graph.edges:
        step = graph.step(e)  # which may set periods
        if step:
            _suspect_view(graph, e, step, untyped)
        known = find(e.parent).state, find(e.child).state
        if e.suspected != known:
            e.suspected = known
            if step:
                _suspect_pieces(graph, e, step)
                _suspect_addresses(graph, e, step)
            if e.store:
                _suspect_copied(graph, e)
    graph.settle()


def _suspect_copied(graph: Graph, e: Edge) -> None:
    """What became a float, or a conflict, where it was copied to, is doubted where it came from."""
    parent, child = find(e.parent), find(e.child)
    for key, s in list(child.slots.items()):
        if s.all & (bl.FLOAT_MASK | CONFLICT_BIT):
            for offset, step in positions(key, child.period, 0, e.low, e.high):
                if not step and used_as_integer(parent, offset + e.at):
                    graph.doubt(parent, parent.key(offset + e.at, 0), reason=(child, key))


def _untyped(graph: Graph) -> set[Region]:
    """The regions of which floats are accessed without a float's type, and what else views the same memory."""
    above: dict[Region, list[Region]] = {}
    below: dict[Region, list[Region]] = {}
    for e in graph.edges:
        if e.low is None and not e.moves:
            parent, child = find(e.parent), find(e.child)
            above.setdefault(child, []).append(parent)
            below.setdefault(parent, []).append(child)
    start = [r for r in graph.regions if r.untyped and r.merged_into is None]
    return set(reach(reach(start, lambda r: above.get(r, [])), lambda r: below.get(r, [])))


def _suspect_view(graph: Graph, e: Edge, step: int, untyped: set[Region]) -> None:
    parent, child = find(e.parent), find(e.child)
    integers = [(key, s) for key, s in child.slots.items() if _is_integer(s)]
    for region, at, every in _views(graph, parent, e.at, step) if integers else ():
        floats = [(key, s) for key, s in region.slots.items() if s.all & bl.FLOAT_MASK]
        for key, s in integers if floats else ():
            (first, size), steps = _accessed(child, key, s), gcd(every, key[1])
            start = key[0] + at
            certain = not _by_use_only(s) or _declared_kind(child, key[0])[1]
            typed = region not in untyped and (s.seen or graph.is_walked(child))
            if certain and (typed or _has_pointers(region, first + at, steps)):
                continue
            whole = certain or region is not parent
            for (place, inner), f in floats:
                if inner and _is_beyond(region, place, inner, range(first + at, first + at + size), steps):
                    continue
                reach = bl.mask_reach(f.all & bl.FLOAT_MASK)
                if size == reach and not _apart(first + at, steps, place, inner) if whole else _meets(
                    start, bl.mask_reach(s.all & bl.INT_MASK), steps, place, reach, inner
                ):
                    graph.doubt(child, key, reason=(region, (place, inner)))
                    _show_float(graph, child, key[0], (start - place) % gcd(steps, inner), f.all & bl.FLOAT_MASK)


def _views(graph: Graph, r: Region, at: int, step: int) -> list[tuple[Region, int, int]]:
    """(region, offset, step): what bytes at `offset` + k·`step` are a view of: `r` (`at`, `step`), what that is an
    element of, as a row is one of a matrix, and so forth."""
    found = {r: (at, step)}
    work = [r]
    while work and len(found) < _MOST_VIEWS:
        below = work.pop()
        at, step = found[below]
        for e in below.edges:
            above = find(e.parent)
            if e.low is not None or e.moves or e.over or find(e.child) is not below or above is below:
                continue
            start, every = at + e.at, gcd(step, graph.step(e))
            if above in found:
                every = gcd(every, found[above][1], start - found[above][0])
            if found.get(above) != (found.get(above, (start, 0))[0], every):
                found[above] = found.get(above, (start, 0))[0], every
                work.append(above)
    return [(region, *place) for region, place in found.items()]


def _has_pointers(r: Region, start: int, step: int) -> bool:
    """Do pointers lie at `start`, or `step` further on, and so forth?"""
    pointers = [key for key, s in r.slots.items() if s.all & bl.POINTER_BIT]
    return any(
        (at - start) % gcd(step, inner, r.period) == 0 and (inner or r.period or at >= start) for at, inner in pointers
    )


def _show_float(graph: Graph, r: Region, offset: int, into: int, mask: int) -> None:
    """What is doubted may be a part of a float that begins `into` bytes before."""
    if into < bl.mask_reach(mask):
        graph.doubt(r, r.key(offset - into, 0), mask)


def _suspect_pieces(graph: Graph, e: Edge, step: int) -> None:
    """Doubt what is moved in steps, by pieces that may cut through floats of the array's owner."""
    parent, child = find(e.parent), find(e.child)
    for offset, size in _moved(graph, child):
        slot = child.slots.get(child.key(offset, 0))
        if slot is not None and slot.all & ~bl.LIKELY_INT:
            continue
        if _cuts_float(parent, offset + e.at, size, step):
            graph.doubt(child, child.key(offset, 0), reason=_some_float(parent))
        elif mask := _whole_floats(parent, offset + e.at, size, step):
            graph.learn(child, child.key(offset, 0), mask, _some_float(parent))


def _some_float(r: Region) -> tuple[Region, tuple[int, int]] | None:
    return next(((r, key) for key, s in r.slots.items() if s.all & bl.FLOAT_MASK), None)


def _suspect_addresses(graph: Graph, e: Edge, step: int) -> None:
    """What is moved as integers, in an array that is walked over pointers too, in smaller steps: those are pointers."""
    parent, child = find(e.parent), find(e.child)
    walked = [(at, inner) for (at, inner), s in parent.slots.items() if 0 < inner < step and s.all & bl.POINTER_BIT]
    for offset, size in _moved(graph, child, ENDLESS) if walked else ():
        for start in range(offset, offset + size - 7, 8):
            slot = child.slots.get(child.key(start, 0))
            meets = any((start + e.at - at) % gcd(step, inner) == 0 for at, inner in walked)
            if meets and (slot is None or not slot.all & ~bl.LIKELY_INT):
                graph.learn(child, child.key(start, 0), bl.POINTER_BIT)


def _whole_floats(r: Region, at: int, size: int, step: int) -> int:
    """The floats that `size` bytes at `at`, or `step` further on, and so forth, may be all of.

    Of a member that is no array nobody knows how far it is walked: a struct may be moved through an `int *`.
    """
    end = _end_of_arrays(r, at, step)
    mask = 0
    for (start, inner), s in r.slots.items():
        found = s.all & bl.FLOAT_MASK
        repeats = gcd(step, inner, r.period)
        inside = start >= at and (end is None or start < end) if not r.period else True
        if found and bl.mask_reach(found) == size and inside and (start - at) % repeats == 0:
            mask |= found
    return mask


def _end_of_arrays(r: Region, at: int, step: int) -> int | None:
    ends: list[int] = []
    for token, level in r.tokens.items():
        if level <= DECLARED and (inside := token.within(at, r.period)) is not None:
            span = bl.array_at(token.type, inside, step)
            if span is None or span.end is None:
                return None
            ends.append(at - inside + span.end)
    return max(ends, default=None)


def _moved(graph: Graph, r: Region, most: int = 8) -> set[tuple[int, int]]:
    """(offset, bytes) of what is read or written in a region, no more than `most` bytes at a time, or in vectors
    whose elements are declared integers."""
    found = set()
    for e in r.edges:
        if e.low is not None and e.high is not None:
            low, size = e.low + (e.at if find(e.parent) is r else 0), e.high - e.low
            if size <= most:
                found.add((low, size))
            elif size <= _WIDEST:
                slots = ((n, r.slots.get(r.key(n, 0))) for n in range(low, low + size))
                parts = {(n, bl.mask_reach(s.all & bl.LIKELY_INT)) for n, s in slots if s and s.all & bl.LIKELY_INT}
                found |= parts if sum(n for _, n in parts) == size else set()
    return found


def _cuts_float(r: Region, at: int, size: int, step: int) -> bool:
    """May `size` bytes at `at`, or `step` further on, and so forth, be a part of a float and not all of it?"""
    told = [(f, level) for _, f, level in declared(r, at) if f.mask > 0]
    certain = [f for f, level in told if level <= DECLARED]  # else it may be the first of many that says so
    floats = [f for f in certain or [f for f, _ in told] if f.mask & bl.FLOAT_MASK]
    if any(f.start < 0 or f.start + f.size > size for f in floats):
        return True
    end = array_limit(r, at, step)
    for (start, inner), s in r.slots.items():
        reach = bl.mask_reach(s.all & bl.FLOAT_MASK)
        if reach and (end is None or at <= start < end or start + reach > at >= start):
            starts = (*range(at - reach + 1, at), *range(max(at, at + size - reach + 1), at + size))
            repeats = gcd(step, inner, r.period)
            if any((p - start) % repeats == 0 for p in starts):
                return True
    return False


def used_as_integer(r: Region, offset: int) -> bool:
    """Is use all that makes a byte an integer?"""
    slot = r.slots.get(r.key(offset, 0))
    return slot is not None and _by_use_only(slot) and not _declared_kind(r, offset)[1]


def _is_integer(s: Slot) -> bool:
    return bool(s.all & bl.INT_MASK) and not s.all & (bl.FLOAT_MASK | bl.POINTER_BIT | CONFLICT_BIT)


def _by_use_only(s: Slot) -> bool:
    return _is_integer(s) and not s.all & bl.LIKELY_INT


def _may_be_float(r: Region, key: tuple[int, int], s: Slot, rows: Sequence[tuple[int, int, int]]) -> bool:
    """`rows`: at, step and bytes of what may be arrays of floats in the region."""
    is_float, is_int = _declared_kind(r, key[0])
    if is_float or is_int or key[1]:
        return is_float
    size = bl.mask_reach(s.all & bl.INT_MASK)
    return any(
        _reaches(r, at, step, key[0]) and _meets(key[0], size, 0, at, reach, step) for at, step, reach in rows
    )


def _declared_kind(r: Region, offset: int) -> tuple[bool, bool]:
    """Do declared types call the byte at `offset` a float, an integer? A union that leaves it open says neither.

    Where one declaration says float and another integer, it may be a float that is read through another's pointer.
    """
    floats = undecided = said = False
    for token, level in r.tokens.items():
        if level <= DECLARED and (inside := token.within(offset, r.period)) is not None:
            masks = [f.mask & bl.FLOAT_MASK for f in token_scalars(token, inside) if f.mask > 0]
            said |= bool(masks)
            floats |= bool(masks) and all(masks)
            undecided |= any(masks)
    return floats, said and not undecided


def _accessed(r: Region, key: tuple[int, int], s: Slot) -> tuple[int, int]:
    """(offset, bytes) of the integer that the one at `key` is a part of, by accesses and declared types."""
    spans = [(key[0], bl.mask_reach(s.all & (bl.INT_MASK | bl.LIKELY_INT)))]
    for n in range(1, 8):
        before = r.slots.get(r.key(key[0] - n, key[1]))
        size = bl.mask_reach(before.all & bl.LIKELY_INT) if before is not None else 0
        spans += [(key[0] - n, size)] if size > n else []
    told = [f for _, f, level in declared(r, key[0]) if level <= DECLARED and f.mask > 0 and f.mask & bl.INT_MASK]
    spans += [(key[0] + f.start, f.size) for f in told]
    return max(spans, key=lambda span: span[1])


def _meets(a: int, size: int, a_step: int, b: int, reach: int, b_step: int) -> bool:
    """May `size` bytes at a + i·a_step and `reach` bytes at b + k·b_step share one?"""
    step = gcd(a_step, b_step)
    if not step:
        return a < b + reach and b < a + size
    apart = (a - b) % step
    return apart < reach or step - apart < size


def _apart(a: int, a_step: int, b: int, b_step: int) -> int:
    """By how many bytes what begins at a + i·a_step and at b + k·b_step is apart, at least."""
    step = gcd(a_step, b_step)
    return (a - b) % step if step else abs(a - b)


def _reaches(r: Region, start: int, step: int, at: int) -> bool:
    end = array_limit(r, start, step)
    into = (at - start) % r.period if r.period else at - start
    return into >= 0 and (end is None or into < end - start)


def _is_beyond(r: Region, start: int, step: int, own: range, every: int) -> bool:
    """Do bytes `own`, and those `every` bytes further on, lie in no array that is walked like that which is declared to
    begin at `start`, as far as types say anything of them?

    An array in a struct, of which there are several, is walked in all of them.
    """
    if r.period:
        return False
    spoken = [token for token, level in r.tokens.items() if level <= LLVM_TYPE and token.high is not None]
    arrays = [token for token in spoken if _array_around(token, start, step) is not None]
    last = max((token.high or 0 for token in arrays), default=0)
    places = [p for at in (own[0], own[-1]) for p in range(at, max(last, at + 1), every or ENDLESS)]
    return bool(arrays) and len(places) <= _MOST_VIEWS and all(
        (token.within(p, 0) is None) or _array_around(token, p, step) is None for p in places for token in spoken
    )  # fmt: skip


def _array_around(token: Token, at: int, step: int) -> bl.Span | None:
    """The array, of a known length, around a byte that such steps walk."""
    inside = token.within(at, 0)
    span = bl.array_at(token.type, inside, step) if inside is not None else None
    return span if span is None or (span.end is not None and not bl.is_storage(span.element)) else None


def array_limit(region: Region, start: int, step: int, weakest: int = LLVM_TYPE) -> int | None:
    """Where the array that is walked from `start` ends, by declared types and LLVM's; None where none says.

    What is walked as floats is not limited by a type that has none there: two arrays lie in one region. Storage for
    anything (nodes of containers hold their elements in arrays of characters) limits it where nothing else does.
    """
    ends: dict[bool, list[int]] = {False: [], True: []}
    slot = region.slots.get((start, step))
    floats = slot.all & bl.FLOAT_MASK if slot is not None else 0
    for token, level in region.tokens.items():
        inside = token.within(start, region.period) if level <= weakest else None
        if inside is not None and (not floats or _may_have(token, inside, floats)):
            end, is_storage = _array_end(token, inside, start, step)
            ends[is_storage] += [end] if end is not None else []
    return max(ends[False] or ends[True], default=None)


def _may_have(token: Token, inside: int, floats: int) -> bool:
    found = bl.scalars(token.type, inside)
    return not found or any(f.mask <= 0 or f.mask & floats for f in found)


def _array_end(token: Token, inside: int, start: int, step: int) -> tuple[int | None, bool]:
    """Where the array ends, as a token says; and whether that is only storage."""
    if step % token.type.size == 0 and token.high is None:
        return ENDLESS, False
    span = bl.array_at(token.type, inside, step)
    if span is not None:
        return (ENDLESS if span.end is None else start - inside + span.end), step > 1 and bl.is_storage(span.element)
    if step % token.type.size == 0:
        several = token.high is not None and start + step < token.high
        return (token.high if several else None), False  # one element that was declared limits no array
    found = bl.scalars(token.type, inside)
    if not found or any(f.mask == 0 for f in found):
        return None, False
    return start - inside + max(f.start + f.size for f in found), False
