"""Reading the solved graph of kinds: what one byte range of a region holds.

Evidence of accesses decides; where there is none, declared types speak, the strongest level first. A range is walked
scalar by scalar, so that overlapping scalars are seen and every byte gets an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, lcm

from msgspec import Struct

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.solver import reach
from llgrad.analysis.types.conflicts import ENDLESS, array_limit
from llgrad.analysis.types.declared_types import DECLARED, LLVM_TYPE, WEAK, Token
from llgrad.analysis.types.regions import CONFLICT_BIT, CUT_BIT, Region, declared, find

ANY_MASK, CONFLICT_MASK, INT_ANSWER = 1 << 13, CONFLICT_BIT, bl.INT_MASK
_MOST_STRIDE = 4096
_FLOATS = frozenset(bl.FLOAT_BIT.values())
_TURNING = {bl.FLOAT_BIT["double"], bl.FLOAT_BIT["float"]}
_SCALARS = ~(CONFLICT_BIT | CUT_BIT | bl.LIKELY_INT)
Leaf = tuple[int, int, int]  # offset, answer, bytes; the answer is 0 (unknown), *_MASK, POINTER_BIT or a FLOAT_BIT


def resolve(region: Region, offset: int, size: int, repeats: int = 0) -> list[Leaf]:
    """The scalars of bytes [offset, offset+size), offsets counted from `offset`. Runs of one non-scalar kind are one.

    With `repeats` the range is one stride, of that many bytes, of something longer.
    """
    if region.overflow:
        return [(0, 0, size)] if size else []
    leaves: list[Leaf] = []
    position = 0
    while position < size:
        answer, length = _scalar(region, offset + position, size - position, repeats)
        length = max(1, min(length, size - position))
        if not answer and leaves and _in_long_double(leaves, position):
            answer = ANY_MASK
        last = leaves[-1] if leaves else (0, -1, 0)
        if answer == last[1] and answer in (0, ANY_MASK, CONFLICT_MASK):
            leaves[-1] = (last[0], answer, last[2] + length)
        else:
            leaves.append((position, answer, length))
        position += length
    return leaves


def _in_long_double(leaves: list[Leaf], position: int) -> bool:
    """Padding of an 80-bit float kept in 16 bytes."""
    last = [leaf for leaf in leaves[-2:] if leaf[1] == bl.FLOAT_BIT["x86_fp80"]]
    return bool(last) and position < last[-1][0] + 16


def _scalar(region: Region, at: int, room: int, repeats: int) -> tuple[int, int]:
    """(answer, bytes) of the scalar at byte `at`; a scalar longer than `room` is cut, hence a conflict."""
    mask = _exact(region, at) | _viewed(region, at, repeats)
    if not mask & ~bl.LIKELY_INT:
        said = _inside(region, at) or _declared(region, at, room)
        return said if said[0] not in (0, ANY_MASK) or not mask else (INT_ANSWER, bl.mask_size(mask))
    answer, size = _decide(mask)
    cut = size > room
    if answer & (bl.FLOAT_MASK | bl.POINTER_BIT) and (cut or _disturbed(region, at, size)):
        return CONFLICT_MASK, size
    if answer == INT_ANSWER and _disturbed(region, at, size, bl.FLOAT_MASK | bl.POINTER_BIT):
        return CONFLICT_MASK, size
    if _inside_float(region, at):
        return CONFLICT_MASK, size
    if answer == INT_ANSWER and _declared(region, at, room)[0] in _FLOATS:
        return CONFLICT_MASK, size  # a float whose bits are looked at, perhaps
    return answer, size


def _decide(mask: int) -> tuple[int, int]:
    """The one kind of a mask, or a conflict; with its size. A pointer seen as an integer is a pointer."""
    floats = mask & bl.FLOAT_MASK
    if mask & CONFLICT_BIT or floats.bit_count() + bool(mask & (bl.POINTER_BIT | bl.INT_MASK)) > 1:
        return (CONFLICT_MASK, bl.mask_size(mask)) if floats or mask & CONFLICT_BIT else (bl.POINTER_BIT, 8)
    if floats:
        return floats, bl.mask_size(floats)
    return (bl.POINTER_BIT, 8) if mask & bl.POINTER_BIT else (INT_ANSWER, bl.mask_size(mask))


def _exact(region: Region, at: int) -> int:
    slot = region.slots.get(region.key(at, 0))
    return slot.all if slot is not None else 0


def _viewed(region: Region, at: int, repeats: int) -> int:
    """Evidence from arrays of unknown length that may reach `at`.

    Where it counts: up to the array's declared end; at the array's first element, which may be `at`, against other
    evidence; when the question is what repeats in these very steps; and anywhere in what repeats in others, if at its
    first element there is something else as well: then it is another array than what repeats (Rust's vectors, which
    share the code that lets them grow). Elsewhere nothing says how far it reaches.
    """
    mask = 0
    for (start, step), slot in region.slots.items():
        apart = at - start
        if step and slot.all and apart % step == 0 and (region.period or apart >= 0):
            end = array_limit(region, start, step)
            into = apart % region.period if region.period else apart
            reached = repeats == step or (apart == 0 and _exact(region, at)) if end is None else into < end - start
            mask |= slot.all if reached or (end is None and _is_another(region, start, slot.all)) else 0
    return mask


def _is_another(region: Region, start: int, mask: int) -> bool:
    """In what repeats, is the first element of an array walked in smaller steps of another kind, too?"""
    if not region.period:
        return False
    answer, _ = _decide(_exact(region, start) | mask)
    return answer == CONFLICT_MASK and _decide(mask)[0] != CONFLICT_MASK


def _disturbed(region: Region, at: int, size: int, by: int = -1) -> bool:
    """Was another scalar seen to start inside this one?"""
    own = region.key(at, 0)
    return any(region.key(at + n, 0) != own and _exact(region, at + n) & by & _SCALARS for n in range(1, size))


def _inside_float(region: Region, at: int) -> bool:
    """Does a float or pointer that starts before `at` reach over it?"""
    for n in range(1, 16):
        if region.period and n >= region.period:
            return False
        if bl.mask_reach(_exact(region, at - n) & (bl.FLOAT_MASK | bl.POINTER_BIT)) > n:
            return True
    return False


def _inside(region: Region, at: int) -> tuple[int, int] | None:
    """The answer for a byte in the middle of a scalar that was accessed."""
    for n in range(1, 16):
        if region.period and n >= region.period:
            return None
        mask = _exact(region, at - n)
        rest = bl.mask_reach(mask) - n
        if rest > 0:
            floats = mask & (bl.FLOAT_MASK | bl.POINTER_BIT | CONFLICT_BIT)
            return (CONFLICT_MASK if floats else INT_ANSWER), rest
    return None


def float_around(region: Region, at: int, size: int) -> tuple[int, int] | None:
    """(start relative to `at`, mask) of the one float that bytes [at, at + size) may be all of, or a part.

    None where other floats were seen there, too. What else was seen there are integers, and pointers.
    """
    if region.overflow:
        return None
    found = floats_around(region, at, size)
    start, mask = found.pop() if len(found) == 1 else (0, 0)
    return (start, mask) if mask in _TURNING and start <= 0 and start + bl.mask_reach(mask) >= size else None


def floats_around(region: Region, at: int, size: int) -> set[tuple[int, int]]:
    """(start relative to `at`, mask) of the floats that were seen in bytes [at, at + size), or in part of them."""
    found = set()
    for n in range(-15, size):
        mask = (_exact(region, at + n) | _walked(region, at + n)) & bl.FLOAT_MASK
        if mask and n + bl.mask_reach(mask) > 0:
            found.add((n, mask))
    return found


def carried_float(region: Region, size: int) -> int:
    """The mask of the one float that may be all of a value, and not a pointer; 0 if there is none.

    A value does not know of floats that were seen in steps where it was read, or where one was that it is a copy of.
    """
    found: set[int] = set()
    for r, at in reach([(region, 0)], lambda cell: _windows_above(*cell, size)):
        if may_be_pointer(r, at, size):
            return 0
        if (seen := float_around(r, at, size)) is not None:
            found.add(seen[1] if not seen[0] and bl.mask_size(seen[1]) == size else 0)
    return found.pop() if len(found) == 1 else 0


def _windows_above(region: Region, at: int, size: int) -> list[tuple[Region, int]]:
    """The places of which all of these bytes are a copy, or a view."""
    edges = [e for e in region.edges if find(e.child) is region and e.low is not None and e.high is not None]
    return [(find(e.parent), at + e.at) for e in edges if (e.low or 0) <= at and at + size <= (e.high or 0)]


def _walked(region: Region, at: int) -> int:
    """All evidence of scalars in steps, of which one may be at `at`."""
    mask = 0
    for (start, step), slot in region.slots.items():
        if step and (at - start) % step == 0 and (region.period or at >= start):
            mask |= slot.all
    return mask


def may_be_pointer(region: Region, at: int, size: int) -> bool:
    """Was a pointer seen in bytes [at, at + size)?"""
    return any((_exact(region, at + n) | _walked(region, at + n)) & bl.POINTER_BIT for n in range(-7, size))


def is_cut(region: Region, at: int, size: int) -> bool:
    """Is it doubted where the scalars in bytes [at, at + size) begin or end?"""
    return any(_exact(region, at + n) & CUT_BIT for n in range(size))


def sees_float(region: Region, at: int, size: int) -> bool:
    """Was a float seen, doubted or declared to be in any of bytes [at, at + size)?"""
    if region.overflow or any(_said(region, at + n) for n in range(size)):
        return True
    bits = bl.FLOAT_MASK | CONFLICT_BIT
    masks = ((n, (_exact(region, at + n) | _walked(region, at + n)) & bits) for n in range(-15, size))
    return any(mask and (n >= 0 or mask & CONFLICT_BIT or n + bl.mask_reach(mask) > 0) for n, mask in masks)


def _said(region: Region, at: int) -> bool:
    return any(f.mask > 0 and f.mask & bl.FLOAT_MASK for _, f, level in declared(region, at) if level <= DECLARED)


def is_word(region: Region, at: int) -> bool:
    """Is all that was ever seen of 8 bytes a double, a pointer, or integers, so that they can be moved as one?"""
    if region.overflow:
        return False
    for n in range(-15, 8):
        mask = _exact(region, at + n)
        others = bl.POINTER_BIT | bl.FLOAT_MASK if n else bl.FLOAT_MASK & ~bl.FLOAT_BIT["double"]
        if mask & CUT_BIT:
            return False
        if mask & others and (n >= 0 or bl.mask_reach(mask & others) > -n):
            return False
    return not any(_splits(start, step, slot.all, at) for (start, step), slot in region.slots.items() if step)


def _splits(start: int, step: int, mask: int, at: int) -> bool:
    """May scalars at every `step` bytes from `start` share a part of the word at `at`?"""
    apart = (at - start) % step
    if not apart:
        return bool(mask & (CUT_BIT | bl.FLOAT_MASK & ~bl.FLOAT_BIT["double"])) or step % 8 != 0
    whole = mask & (bl.FLOAT_MASK | bl.POINTER_BIT | CUT_BIT)
    return bool(whole) and (apart < (bl.mask_reach(whole) or 16) or step - apart < 8)


# --- declared types --------------------------------------------------------------------------------------------------


def _declared(region: Region, at: int, room: int) -> tuple[int, int]:
    """The strongest level of declarations that says something of this byte. Weak ones that disagree say nothing.

    Nor do weak ones, which take what a pointer leads to for the first of many, where others leave open what is there;
    nor, where others of their level speak, pointers to characters, as which C and C++ hand on memory of any type, and
    pointers to what a larger object begins with (a base class), behind that.
    """
    levels: dict[int, list[tuple[int, int, int]]] = {}
    open_at = WEAK
    said = [(inside, token, level) for token, level in region.tokens.items()
            if (inside := token.within(at, region.period)) is not None]  # fmt: skip
    ends: dict[tuple[int, int], int] = {}  # of objects that are told of, by level and first byte
    for _, token, level in said:
        if token.high is not None:
            end = token.at + token.type.size
            ends[level, token.at] = max(end, ends.get((level, token.at), end))
    aside = [_says_less(region, token, at, ends.get((level, token.at), at)) for _, token, level in said]
    typed = {level for (_, _, level), less in zip(said, aside, strict=True) if not less}
    for (inside, token, level), less in zip(said, aside, strict=True):
        if less and level in typed:
            continue
        found = bl.scalars(token.type, inside)
        mask, start, size = 0, inside, 1
        for f in found:
            mask, start, size = mask | (f.mask or CONFLICT_BIT), f.start, f.size
        if len(found) == 1 and not found[0].mask:
            open_at = min(open_at, level)
        else:
            levels.setdefault(level, []).append((mask, start - inside, size))
    for level in sorted(n for n in levels if n < WEAK or open_at == WEAK):
        fitting = [found for found in levels[level] if not _is_refuted(region, at, *found)]
        answer, size = _agreed(fitting or levels[level], room)
        return (0 if answer == CONFLICT_MASK and level >= LLVM_TYPE else answer), size
    return 0, 1


def _says_less(region: Region, token: Token, at: int, end: int) -> bool:
    """Is it of a pointer to characters, or of one to the first part of an object of which `at` is further on?

    `end`: where the longest such object ends that others of its level tell of.
    """
    if token.high is not None or bl.is_character(token.type):
        return token.high is None
    return not region.period and token.type.size > 0 and at >= token.at + token.type.size and end > at


def _is_refuted(region: Region, at: int, mask: int, start: int, size: int) -> bool:
    """Is a pointer declared where an integer of fewer bytes was seen, and nothing else?

    (A hash table's own first node lies within the table: what follows it there is declared for nodes, too.)
    """
    seen = _exact(region, at + start)
    fewer = bool(seen) and not seen & ~bl.INT_MASK & ~bl.LIKELY_INT and bl.mask_size(seen) < size
    return fewer and mask == bl.POINTER_BIT


def _agreed(said: list[tuple[int, int, int]], room: int) -> tuple[int, int]:
    """One answer of several declarations (mask 0 is padding) about one byte."""
    told = [s for s in said if s[0]]
    if not told:
        return ANY_MASK, 1
    if any(_ambiguous(mask) for mask, _, _ in told):
        return 0, 1
    answers = {_decide(mask)[0] for mask, _, _ in told}
    start, size = told[0][1:]
    rest = min(s + n for _, s, n in told)
    if len(answers) > 1:
        return CONFLICT_MASK, rest
    answer = answers.pop()
    cut = start < 0 or size > room
    return (CONFLICT_MASK if cut and answer != INT_ANSWER else answer), rest


def _ambiguous(mask: int) -> bool:
    """Do the members of a union disagree?"""
    families = (mask & bl.FLOAT_MASK).bit_count() + bool(mask & bl.POINTER_BIT) + bool(mask & bl.INT_MASK)
    return families > 1 or bool(mask & CONFLICT_BIT)


# --- strides ---------------------------------------------------------------------------------------------------------


def stride_of(region: Region, offset: int, multiple: int | None) -> int | None:
    """After how many bytes what lies behind `offset` repeats; None where nothing says so.

    Declared types and the region's period say it. Else steps in which the memory was walked do: where the size in
    question is a `multiple` of just that, or where what was walked leaves no byte open and the size is some multiple of
    it (None: no size is in question; 0: any size will do, as all that is done with the memory is seen).
    """
    if region.period > 1:
        return _of_structs(region, offset, region.period, multiple)
    declared = _declared_strides(region, offset)
    walked = {step for start, step in region.slots if step > 1 and offset >= start}
    if declared == {1} and walked:
        declared = set()  # a `char *` that memory of any type is cast to
    if not declared and multiple is not None:
        size = multiple if multiple in walked else _dense(region, offset, multiple)
        if multiple or size is not None:
            return size
    stride = lcm(*(declared or walked)) if declared or walked else 0
    return _of_structs(region, offset, stride, multiple) if 0 < stride <= _MOST_STRIDE else None


def _of_structs(region: Region, offset: int, size: int, multiple: int | None) -> int | None:
    """`size`, after which structs repeat, unless floats are walked there, of which some number are no structs.

    They are an array in the struct, or one elsewhere that the same pointer may lead to: where nothing is known of the
    number of bytes, nor where the array ends, nobody knows which.
    """
    if multiple is None or multiple and multiple % size == 0:
        return size
    walked = [way for way in region.slots if 1 < way[1] < size and _walks_floats_to(region, *way, offset, size)]
    if several := [step for _, step in walked if multiple and multiple % step == 0]:
        return min(several)
    return None if any(array_limit(region, *way, DECLARED) is None for way in walked) else size


def _walks_floats_to(region: Region, start: int, step: int, offset: int, size: int) -> bool:
    """Are floats walked from `start` in steps, and is nothing else known on the way to `offset`?"""
    mask, apart = region.slots[start, step].all, offset - start
    into = apart % (region.period or size) if apart % step == 0 and (region.period or apart >= 0) else -1
    kinds = {_decide(_exact(region, start + n) | mask)[0] for n in range(0, into + 1, step)}
    return len(kinds) == 1 and bool(kinds.pop() & bl.FLOAT_MASK)


def _dense(region: Region, offset: int, multiple: int) -> int | None:
    """The size of the floats that fill the memory: in whatever steps it is walked, each step is full of them.

    Where any size will do, what nobody looks at may be taken for floats too.
    """
    if not multiple:
        seen = [(at - offset, step, slot.all) for (at, step), slot in region.slots.items() if slot.all]
        found = {_aligned(_decide(mask), at, step) for at, step, mask in seen}
    else:
        found = {_filled_with(r, unit, at - offset) for r, unit, at in _walks(region)}
    if len(found) != 1:
        return None
    answer, size = found.pop()
    return size if answer & bl.FLOAT_MASK and multiple % size == 0 else None


def _aligned(decided: tuple[int, int], at: int, step: int) -> tuple[int, int]:
    """A scalar and its size; (0, 1) where it does not lie at multiples of the size."""
    return decided if at % decided[1] == 0 and step % decided[1] == 0 else (0, 1)


def _filled_with(element: Region, unit: int, at: int) -> tuple[int, int]:
    """The float that fills the elements of an array, and its size; (0, 1) where that is not so."""
    seen = [(o, slot.all) for (o, inner), slot in element.slots.items() if slot.all and inner % unit == 0]
    kinds = {_decide(mask) for _, mask in seen}
    answer, size = kinds.pop() if len(kinds) == 1 else (0, 1)
    full = answer & bl.FLOAT_MASK and unit <= _MOST_STRIDE and {o % unit for o, _ in seen} == set(range(0, unit, size))
    return (answer, size) if full and at % size == 0 else (0, 1)


def _walks(region: Region) -> list[tuple[Region, int, int]]:
    """(elements, size of what is indexed, offset) of all ways in which memory is walked from here, and on from there.

    All of them, because `a[i].x[j]` may be computed in either order.
    """
    found: list[tuple[Region, int, int]] = []
    work, seen = [region], {region.id}
    while work:
        r = work.pop()
        found += [(r, unit, 0) for unit in r.units]
        for e in r.edges:
            child = _found(e.child)
            if _found(e.parent) is r and e.low is None and not e.store:
                found += [(child, e.unit, e.at if r is region else 0)] if e.step > 1 else []
                work += [child] if child.id not in seen else []
                seen.add(child.id)
    return found


def _found(r: Region) -> Region:
    while r.merged_into is not None:
        r = r.merged_into
    return r


class Header(Struct, frozen=True):
    """Bytes before elements of `stride` bytes each, of which there may be any number; is it declared so?"""

    size: int
    stride: int
    declared: bool


def header(region: Region, offset: int) -> Header | None:
    """The header of what lies behind `offset`, by a declared flexible array, else by where it is walked from."""
    if region.period or region.overflow:
        return None
    for token, level in region.tokens.items():
        if level <= DECLARED and token.high is None and token.at == offset and bl.is_flexible(token.type):
            size = bl.tail(token.type)
            if size and (span := bl.array_at(token.type, size, 0)) is not None and span.element.size:
                return Header(size, span.element.size, True)
    walked = {(at - offset, step) for (at, step), slot in region.slots.items() if step > 1 and slot.all}
    steps, size = {step for _, step in walked}, min(walked, default=(0, 0))[0]
    return Header(size, steps.pop(), False) if size > 0 and len(steps) == 1 else None  # else elements are there, too


def repeated(region: Region, offset: int, stride: int) -> list[Leaf]:
    """One stride of what lies behind `offset`; scalars seen further on that do not fit make a conflict."""
    leaves = resolve(region, offset, stride, repeats=stride)
    if region.period:
        return leaves
    clashes = {
        start
        for (at, step), slot in region.slots.items()
        if slot.all and (step or offset <= at < _declared_end(region, offset))
        for place in _places(region, at, step, offset, stride)
        for start, answer, size in leaves
        if answer and start <= place < start + size and not _fits(answer, place - start, slot.all)
    }  # fmt: skip
    return [(start, CONFLICT_MASK if start in clashes else answer, size) for start, answer, size in leaves]


def _places(region: Region, at: int, step: int, offset: int, stride: int) -> Iterable[int]:
    """Where evidence may be, from `offset` on, modulo the stride."""
    if not step:
        return ((at - offset) % stride,)
    end = array_limit(region, at, step)
    if end is None or end - at > _MOST_STRIDE:
        return range((at - offset) % gcd(stride, step), stride, gcd(stride, step))
    return {(p - offset) % stride for p in range(at, end, step) if p >= offset}


def _fits(answer: int, into: int, mask: int) -> bool:
    found = _decide(mask)[0]
    return found == answer and (into == 0 or answer in (INT_ANSWER, CONFLICT_MASK))


def _declared_end(region: Region, offset: int) -> int:
    """Where the array around `offset` ends, as far as that is declared."""
    ends = [ENDLESS]
    for token, level in region.tokens.items():
        inside = token.within(offset, 0)
        if level <= DECLARED and inside is not None and token.high is not None:
            span = bl.array_at(token.type, inside, 0)
            if span is not None and span.end is not None:  # a scalar may be the first of more: a header
                ends.append(offset - inside + span.end)
    return min(ends)


def _declared_strides(region: Region, offset: int) -> set[int]:
    by_level: dict[int, set[int]] = {}
    for token, level in region.tokens.items():
        inside = token.within(offset, region.period)
        if inside is None:
            continue
        if token.high is None:
            by_level.setdefault(level, set()).add(token.type.size)
        elif (span := bl.array_at(token.type, inside, 0)) is not None:
            by_level.setdefault(level, set()).add(span.element.size)
    return by_level[min(by_level)] if by_level else set()


__all__ = [
    "ANY_MASK", "CONFLICT_MASK", "INT_ANSWER", "Header", "Leaf", "float_around", "floats_around", "header", "is_cut",
    "is_word", "may_be_pointer", "repeated", "resolve", "sees_float", "stride_of",
]  # fmt: skip
