"""Regions of bytes seen through pointers, the evidence in their slots, and the edges by which they overlap.

A `Region` is what one class of pointer values points to, or the bytes of one SSA value. Its slots hold evidence: key
(offset, 0) is the scalar at that offset, key (offset, S) the scalars at some of offset, offset+S, …: an array of
unknown length, of which no particular byte is proven. A region with a period is the same at every multiple of it.
Evidence is a mask of `byte_layouts` bits, twice: `up` is what is known from the region itself and from what was made of
its pointer, `all` adds what is known of where the pointer came from. So a function called with an array of doubles and
one of integers sees both, and neither caller sees the other's.

`Edge(parent, at, child)`: byte o of the child is byte at+o of the parent; with `step` S the child starts at
at + k·S for unknown k; with a window only bytes [low, high) of the child are meant; `store` edges copy contents, so
that what the parent knows becomes the child's own (unless it is a `view`, see `cycles`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from msgspec import Struct, field

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.layout.byte_layouts import Found
from llgrad.analysis.memory.tbaa import Tag
from llgrad.analysis.types.declared_types import Token, token_scalars

State = tuple[int, int, int]

_MOST_COPIES = 256
CONFLICT_BIT = 1 << 12
CUT_BIT = 1 << 18  # with it: not about what a scalar is, but where it begins or ends, or how far an array reaches


class Slot(Struct):
    up: int = 0
    all: int = 0
    seen: int = 0  # what instructions say
    pointee: Region | None = None
    linked: bool = False  # a pointer was loaded or stored here, through this region or what was made of its pointer
    tags: frozenset[Tag | None] = frozenset()  # of TBAA, of the accesses of that pointer; None: any


class Region(Struct, eq=False):
    id: int
    period: int = 0
    slots: dict[tuple[int, int], Slot] = field(default_factory=dict)
    tokens: dict[Token, int] = field(default_factory=dict)  # level; lower is stronger
    tokens_up: dict[Token, int] = field(default_factory=dict)
    news: list[Token] = field(default_factory=list)  # tokens, in the order in which they came or grew stronger
    news_up: list[Token] = field(default_factory=list)
    changes: list[tuple[int, int]] = field(default_factory=list)  # of slots, likewise
    edges: dict[Edge, None] = field(default_factory=dict)
    asked: dict[tuple[int, int] | None, None] = field(default_factory=dict)  # where pointers are accessed (None: all)
    questions: list[tuple[int, int] | None] = field(default_factory=list)  # the same, in the order in which they came
    units: set[int] = field(default_factory=set)  # sizes of what was indexed in steps that are multiples of the period
    merged_into: Region | None = None
    overflow: bool = False
    looked_at: bool = False  # integers are read there for more than to be moved
    untyped: bool = False  # floats may come or go there by an access that does not say so (`memcpy`, moved bits)
    told: dict[tuple[int, int], None] = field(default_factory=dict)  # slots whose pointees know the news
    told_news: int = 0  # how many of them; the slots were found in the first so many changes
    told_changes: int = 0
    renewals: int = 0  # how often all became news again
    suspected: State | None = None  # when its integers were last looked at

    @property
    def state(self) -> State:
        """It is another when something is known of the region that was not known before."""
        return self.renewals, len(self.changes), len(self.news)

    def key(self, offset: int, step: int) -> tuple[int, int]:
        """Where evidence at `offset` (every `step` bytes) is kept."""
        if self.period:
            step = gcd(step, self.period) if step else 0
            return offset % self.period, 0 if step == self.period else step
        return offset, step


class Edge(Struct, eq=False):
    parent: Region
    at: int
    child: Region
    step: int = 0
    low: int | None = None
    high: int | None = None
    store: bool = False
    unit: int = 0  # of the indexed type, where the index is a multiple of something too
    only: int = -1  # the evidence that is carried: by an access of a declared type, of that type's
    view: bool = False  # what the parent knows is not the child's own, though it is a copy
    moves: bool = False  # so many bytes of memory, from here on
    over: bool = False  # it moves memory over itself, and relates nothing: what lies before (a header) does not repeat
    down: int = 0  # how many of the parent's news the child knows; of the child's the parent; of changes, likewise
    up: int = 0
    slots_down: int = 0
    slots_up: int = 0
    asked_up: int = 0  # how many of the child's questions
    suspected: tuple[State, State] | None = None  # the parent's and the child's, when they were last compared

    @property
    def owns(self) -> bool:
        """Is what the parent knows the child's own?"""
        return self.store and not self.view

    def forget(self) -> None:
        self.down = self.up = self.slots_down = self.slots_up = self.asked_up = 0


def is_asked(r: Region, key: tuple[int, int]) -> bool:
    """Is a pointer read or written there, through the region, what was made of its pointer, or a copy of that?"""
    if None in r.asked or key in r.asked:
        return True
    offset, step = key
    apart = [(q[0] - offset, gcd(q[1], step)) for q in r.asked if q is not None and (q[1] or step)]
    return any(at % by == 0 for at, by in apart)


def find(r: Region) -> Region:
    """The region that it was merged into."""
    while r.merged_into is not None:
        if r.merged_into.merged_into is not None:
            r.merged_into = r.merged_into.merged_into
        r = r.merged_into
    return r


def declared(r: Region, offset: int) -> list[tuple[Token, Found, int]]:
    """What declared types say of the byte at `offset`, with their levels; starts are relative to it (≤ 0)."""
    found = []
    for token, level in r.tokens.items():
        inside = token.within(offset, r.period)
        if inside is not None:
            scalars = token_scalars(token, inside)
            found += [(token, Found(f.mask, f.start - inside, f.size, f.pointer), level) for f in scalars]
    return found


def residues(parent: Region, step: int, only: int | None = None) -> dict[int, int]:
    """residue → mask, where others walk the parent in the same steps: what all evidence at this residue says.

    Scalars seen at fixed offsets can only veto: one field proves nothing about an array.
    """
    walked: dict[int, int] = {}
    for (offset, inner), s in parent.slots.items():
        if inner == step and s.all:
            residue = offset % step
            walked[residue] = walked.get(residue, 0) | s.all
    slots = parent.slots.items()
    return {
        residue: mask
        for residue, mask in walked.items()
        if only in (None, residue) and not any(vetoes(key, s, residue, mask, step) for key, s in slots)
    }


def vetoes(key: tuple[int, int], s: Slot, start: int, mask: int, step: int) -> bool:
    """Does other evidence contradict scalars of `mask` at start + k·step?"""
    apart = (key[0] - start) % gcd(step, key[1] or step)
    if not (s.all | mask) & ~bl.INT_MASK:  # integers of other sizes
        return False
    return bool(s.all) and (bool(s.all & ~mask) if apart == 0 else apart < bl.mask_reach(mask))


def positions(
    key: tuple[int, int], period: int, shift: int, low: int | None, high: int | None
) -> Iterable[tuple[int, int]]:
    """A slot's key shifted, and repeated (by the period) to all its places in the window [low, high)."""
    offset, step = key[0] + shift, key[1]
    if low is None or high is None:
        return ((offset, step),)
    if step:
        return ()
    if not period:
        return ((offset, 0),) if low <= offset < high else ()
    return tuple((o, 0) for o in range(low + (offset - low) % period, high, period)[:_MOST_COPIES])


def clipped(mask: int, offset: int, high: int | None) -> int:
    """A mask as seen through a window that ends at `high`: integers are cut, a float that is cut is a conflict."""
    if high is None or bl.mask_reach(mask) <= high - offset:
        return mask
    if bl.mask_reach(mask & bl.FLOAT_MASK) > high - offset:
        return CONFLICT_BIT | CUT_BIT
    room = max(n for n in bl.INT_BITS if n <= high - offset)
    for every, bits in ((bl.INT_MASK, bl.INT_BITS), (bl.LIKELY_INT, bl.LIKELY_INTS)):
        mask = (mask & ~every) | bits[room] if mask & every else mask
    return mask


def is_cut(key: tuple[int, int], s: Slot, period: int, low: int) -> bool:
    """Does a window that starts at `low` cut into a float?"""
    apart = (low - key[0]) % period if period else low - key[0]
    return not key[1] and 0 < apart < bl.mask_reach(s.all & bl.FLOAT_MASK)


def walked(r: Region) -> list[tuple[int, int, int]]:
    """(offset, step, mask) of what was seen as floats, at times as something else, or as pointers alone, wherever an
    array was walked."""
    found = ((o, step, s.all & ~bl.LIKELY_INT) for (o, step), s in r.slots.items() if step)
    return [(o, step, mask) for o, step, mask in found if mask & bl.FLOAT_MASK or mask == bl.POINTER_BIT]


def repeats(r: Region, period: int) -> bool:
    """Is what is known of a region the same at every multiple of `period`, or may it be?"""
    if r.period and period % r.period == 0:
        return True
    known: dict[int, int] = {}
    for (offset, step), s in r.slots.items():
        mask = s.all & ~bl.LIKELY_INT
        if mask and not step and known.setdefault(offset % period, mask) != mask:
            return False
    return True


__all__ = [
    "CONFLICT_BIT",
    "CUT_BIT",
    "Edge",
    "Region",
    "Slot",
    "clipped",
    "declared",
    "find",
    "is_asked",
    "is_cut",
    "positions",
    "repeats",
    "residues",
    "vetoes",
    "walked",
]
