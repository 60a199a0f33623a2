"""The constraint graph behind `analysis.kinds`: regions of bytes seen through pointers, and how they overlap.

A `Region` is what one class of pointer values points to, or the bytes of one SSA value. Its slots hold evidence: key
(offset, 0) is the scalar at that offset, key (offset, S) the scalars at some of offset, offset+S, …: an array of
unknown length, of which no particular byte is proven. A region with a period is the same at every multiple of it.
Evidence is a mask of `bytelayout` bits, twice: `up` is what is known from the region itself and from what was made of
its pointer, `all` adds what is known of where the pointer came from. So a function called with an array of doubles and
one of integers sees both, and neither caller sees the other's.

`Edge(parent, at, child)`: byte o of the child is byte at+o of the parent; with `step` S the child starts at
at + k·S for unknown k; with a window only bytes [low, high) of the child are meant; `store` edges copy contents, so
that what the parent knows becomes the child's own (unless it is a `view`, below). Masks only grow, so that solving is
a fixpoint of a worklist. Offsets around a cycle of edges become periods: one walks an array. Where only the way back
from a stored pointer closes the cycle, and what is known does not repeat so (one variable pointed to several members
of a struct), nobody does: such a pointer is then a view, like one that is passed to a function. (Compare Lattner's
data structure analysis, whose nodes are folded whole; here each pointer keeps its own view.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from math import gcd

from msgspec import Struct, field

from llgrad.analysis import bytelayout as bl
from llgrad.analysis.bytelayout import ByteType, Found, Record, Sequence, Unknown
from llgrad.analysis.kindtokens import (
    DECLARED,
    OWN,
    WEAK,
    Token,
    element_of,
    is_pointless,
    moved_to,
    normal,
    spoken_of,
    token_scalars,
)
from llgrad.analysis.shifts import Places
from llgrad.analysis.solver import reach, strong_components
from llgrad.analysis.tbaa import Tag

_MOST_SLOTS, _MOST_COPIES, _MOST_TOKENS = 8192, 256, 64
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
    units: set[int] = field(default_factory=set)  # sizes of what was indexed in steps that are multiples of the period
    merged_into: Region | None = None
    overflow: bool = False
    looked_at: bool = False  # integers are read there for more than to be moved
    told: dict[tuple[int, int], None] = field(default_factory=dict)  # slots whose pointees know the news
    told_news: int = 0  # how many of them; the slots were found in the first so many changes
    told_changes: int = 0

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

    @property
    def owns(self) -> bool:
        """Is what the parent knows the child's own?"""
        return self.store and not self.view

    def forget(self) -> None:
        self.down = self.up = self.slots_down = self.slots_up = 0


class Graph:
    """Regions, edges and their solution."""

    def __init__(self, may_alias: Callable[[Tag | None, Tag | None], bool] = lambda a, b: True) -> None:
        """`may_alias`: may accesses with two TBAA tags touch the same byte?"""
        self._may_alias = may_alias
        self.regions: list[Region] = []
        self._shapes = bl.Shapes()
        self.edges: list[Edge] = []
        self._dirty: deque[Region] = deque()
        self._queued: set[int] = set()
        self._merged = True  # or edges were added: ways around cycles may have changed
        self._same: list[tuple[Region, Region]] = []  # to be merged when nothing is being looked at
        self._backflow = False
        self.doubts = 0  # how many slots were doubted
        self._settled: set[tuple[int, tuple[int, int]]] = set()

    # --- building -----------------------------------------------------------------------------------------------

    def region(self) -> Region:
        r = Region(len(self.regions))
        self.regions.append(r)
        return r

    def find(self, r: Region) -> Region:
        while r.merged_into is not None:
            if r.merged_into.merged_into is not None:
                r.merged_into = r.merged_into.merged_into
            r = r.merged_into
        return r

    def edge(
        self, parent: Region, at: int, child: Region, *, step: int = 0, size: int | None = None,
        to: int = 0, store: bool = False, unit: int = 0, only: int = -1, moves: bool = False,
    ) -> None:  # fmt: skip
        """Relate two regions. With `size`, bytes [to, to+size) of the child are bytes [at, at+size) of the parent."""
        parent, child = self.find(parent), self.find(child)
        if parent is child and at == to and not step:
            return
        low, high = (to, to + size) if size is not None else (None, None)
        e = Edge(parent, at - to, child, step, low, high, store, unit or step, only, moves=moves)
        self.edges.append(e)
        self._merged = True
        parent.edges[e] = child.edges[e] = None
        if step > 1:
            self.set_period(child, step)
            self._merge()
        self._touch(self.find(parent))

    def evidence(self, r: Region, offset: int, mask: int, step: int = 0) -> None:
        """The scalar at `offset`, and at all multiples of `step` from there, was seen to be of a kind in `mask`."""
        r = self.find(r)
        key = r.key(offset, step)
        self._join(r, key, mask, mask)
        if key in r.slots:
            r.slots[key].seen |= mask

    def pointee(self, r: Region, offset: int, tag: Tag | None = None) -> Region:
        """What the pointer stored at `offset` points to, for an access with that tag."""
        r = self.find(r)
        key = r.key(offset, 0)
        slot = r.slots.get(key)
        if slot is None:
            slot = r.slots[key] = Slot()
        if slot.pointee is None:
            slot.pointee = self.region()
        if not slot.linked or tag not in slot.tags:
            slot.linked = True
            slot.tags |= {tag}
            self._changed(r, key)
        return self.find(slot.pointee)

    def declare(self, r: Region, token: Token, level: int) -> None:
        """A declared type; `level` is OWN, DECLARED, LLVM_TYPE or WEAK."""
        if token.type.size and not isinstance(token.type, Unknown):
            t = self._shapes.of(token.type)
            if isinstance(t, Record) and not t.members:  # an empty base lies where another member does
                if token.high is None:
                    return
                level = WEAK
            self._add_token(self.find(r), Token(t, token.at, token.low, token.high), level, up=True)

    def declare_pointer(self, r: Region, offset: int, pointee: ByteType | None, level: int, one: bool = False) -> None:
        """A pointer at byte `offset` of the region is declared to point to `pointee` (`one`: never into an array)."""
        if pointee is None or _says_nothing(pointee):
            return
        core = Token(pointee, offset, offset, offset + pointee.size)
        if level == OWN and not one and not _may_be_longer(pointee):
            self.declare(r, Token(pointee, offset, offset if bl.is_flexible(pointee) else None), OWN)
            return
        self.declare(r, core, level)
        if not one and not _may_be_longer(pointee):
            self.declare(r, Token(pointee, offset, offset if bl.is_flexible(pointee) else None), WEAK)

    # --- changing -----------------------------------------------------------------------------------------------

    def _touch(self, r: Region) -> None:
        if r.id not in self._queued:
            self._queued.add(r.id)
            self._dirty.append(r)

    def _changed(self, r: Region, key: tuple[int, int]) -> None:
        r.changes.append(key)
        self._touch(r)

    def _join(self, r: Region, key: tuple[int, int], up: int, every: int) -> None:
        slot = r.slots.get(key)
        if slot is None:
            if len(r.slots) >= _MOST_SLOTS:
                r.overflow = True
                return
            slot = r.slots[key] = Slot()
        if (up | slot.up) != slot.up or (every | slot.all) != slot.all:
            slot.up |= up
            slot.all |= every | up
            self._changed(r, key)

    def _link(
        self, r: Region, key: tuple[int, int], pointee: Region, linked: bool, tags: frozenset[Tag | None]
    ) -> None:
        slot = r.slots.get(key)
        if slot is None:
            if len(r.slots) >= _MOST_SLOTS:
                r.overflow = True
                return
            slot = r.slots[key] = Slot()
        if slot.pointee is None or (linked and not slot.linked) or not tags <= slot.tags:
            slot.linked |= linked
            slot.tags |= tags
            self._changed(r, key)
        if slot.pointee is None:
            slot.pointee = pointee
        elif self.find(slot.pointee) is not self.find(pointee):
            self._same.append((slot.pointee, pointee))

    def _add_token(self, r: Region, token: Token, level: int, up: bool) -> None:
        if r.tokens.get(token, 9) <= level and (not up or r.tokens_up.get(token, 9) <= level):
            return
        if is_pointless(token, r.period):
            return
        token = normal(token, r.period)
        if r.tokens.get(token, 9) > level and (token in r.tokens or len(r.tokens) < _MOST_TOKENS):
            r.tokens[token] = level
            r.news.append(token)
            self._touch(r)
        if up and r.tokens_up.get(token, 9) > level and (token in r.tokens_up or len(r.tokens_up) < _MOST_TOKENS):
            r.tokens_up[token] = level
            r.news_up.append(token)
            self._touch(r)

    def set_period(self, r: Region, period: int) -> None:
        """The region repeats every `period` bytes too."""
        new = gcd(r.period, period)
        if new == r.period:
            return
        r.period = new
        slots, r.slots = r.slots, {}
        for (offset, step), s in slots.items():
            self._absorb(r, r.key(offset, step), s)
        for name in ("tokens", "tokens_up"):
            old: dict[Token, int] = getattr(r, name)
            setattr(r, name, {})
            fresh: dict[Token, int] = getattr(r, name)
            for token, level in old.items():
                if not is_pointless(token, new):
                    t = normal(token, new)
                    fresh[t] = min(level, fresh.get(t, 9))
        self._tell_again(r)

    def _tell_again(self, r: Region) -> None:
        """All is news, here and where it comes from."""
        r.told.clear()
        r.told_changes = r.told_news = 0
        r.news, r.news_up, r.changes = list(r.tokens), list(r.tokens_up), list(r.slots)
        for e in r.edges:
            e.forget()
        self._touch(r)

    def _absorb(self, r: Region, key: tuple[int, int], s: Slot) -> None:
        self._join(r, key, s.up, s.all)
        if key in r.slots:
            r.slots[key].seen |= s.seen
        if s.pointee is not None:
            self._link(r, key, s.pointee, s.linked, s.tags)

    def _merge(self) -> None:
        """Regions found to be one (what one stored pointer points to) become one."""
        while self._same:
            a, b = (self.find(x) for x in self._same.pop())
            if a is b:
                continue
            if len(a.slots) + len(a.edges) < len(b.slots) + len(b.edges):
                a, b = b, a
            b.merged_into, self._merged = a, True
            a.edges.update(b.edges)
            a.units |= b.units
            a.overflow |= b.overflow
            a.looked_at |= b.looked_at
            if b.period:
                self.set_period(a, b.period)
            for (offset, step), s in b.slots.items():
                self._absorb(a, a.key(offset, step), s)
            for token, level in b.tokens.items():
                self._add_token(a, token, level, up=False)
            for token, level in b.tokens_up.items():
                self._add_token(a, token, level, up=True)
            b.slots, b.edges = {}, {}
            self._tell_again(a)

    # --- solving ------------------------------------------------------------------------------------------------

    def solve(self) -> None:
        """The least solution; then what follows where nothing is known: agreement, and what copies became."""
        self._fixpoint()
        if self._find_views():
            self._begin_again()
            self._fixpoint()
        if self._known_beside():
            self._fixpoint()
        guesses: list[tuple[Edge, int, int]] = []
        for _ in range(2):
            guesses += self._agreements()
            self._settle()
            for e, residue, mask in guesses:
                child = self.find(e.child)
                key = child.key(residue, 0)
                if not (s := child.slots.get(key)) or not s.all:
                    self._join(child, key, 0, mask)
            self._fixpoint()
        self._check_agreements(guesses)

    def _known_beside(self) -> bool:
        """What others who walk the same array, from the same place or an element beside, saw as floats alone, or as
        pointers alone. Was there any?

        Of arrays of plain numbers only elements learn whose bits nobody looks at: a work array may hold doubles first
        and integers after them.
        """
        walked: dict[int, list[tuple[int, int, int]]] = {}
        found: list[tuple[Region, tuple[int, int], int]] = []
        for e in self.edges:
            parent, child = self.find(e.parent), self.find(e.child)
            if e.low is not None or (step := gcd(e.step, child.period)) <= 1:
                continue
            if parent.id not in walked:
                walked[parent.id] = _walked(parent)
            for offset, inner, mask in walked[parent.id]:
                at = (offset - e.at) % step
                size = bl.mask_reach(mask & e.only)
                if inner % step or abs(offset - e.at - at) > step or not 0 < size <= step:
                    continue
                if size < step or not (child.looked_at or self._is_walked(child)):
                    found.append((child, child.key(at, 0), mask & e.only))
        fresh = [(r, key, mask) for r, key, mask in found if key not in r.slots or not r.slots[key].all & mask]
        for r, key, mask in fresh:
            self._join(r, key, 0, mask)
        return bool(fresh)

    def _is_walked(self, r: Region) -> bool:
        """Does anybody walk from there?"""

        def below(x: Region) -> list[Edge]:
            return [e for e in x.edges if self.find(e.parent) is x and e.low is None]

        passed = reach([r], lambda x: [self.find(e.child) for e in below(x) if not e.step])
        return any(e.step > 1 for x in passed for e in below(x))

    def _settle(self) -> None:
        """From here on evidence also flows from a copy back to the slots of the original that nothing is known of."""
        self._backflow = self._merged = True
        self._settled = {
            (r.id, key)
            for r in self.regions
            if r.merged_into is None
            for key, s in r.slots.items()
            if s.all & ~bl.LIKELY_INT
        }
        for e in self.edges:
            e.forget()
            self._touch(self.find(e.parent))

    def _fixpoint(self) -> None:
        budget = 10_000 + 200 * len(self.regions) + 50 * len(self.edges)
        for _ in range(16):
            if self._merged:
                self._cycles()
            self._merged = False
            while self._dirty and (budget := budget - 1) > 0:
                r = self._dirty.popleft()
                self._queued.discard(r.id)
                if r.merged_into is None:
                    for e in list(r.edges):
                        self._relax(e)
                    self._declare_pointees(r)
                    self._merge()
            if not self._merged and not self._dirty:
                return
        for r in self.regions:  # did not settle: claim nothing
            r.overflow = True

    def _cycles(self) -> None:
        """Offsets around cycles of the ways that evidence goes, up (even nodes) and down (odd), become periods."""
        while any([self._leave_out(flows) for flows in self._cyclic()]):
            pass
        for regions, _, period in self._shifting():
            for r in regions:
                self.set_period(r, period)

    def _shifting(self) -> Iterator[tuple[list[Region], set[int], int]]:
        """Regions (and nodes) that evidence goes around in with a shift, and the gcd of the shifts."""
        for flows in self._cyclic():
            edges = [(source, target, at) for source, target, at, _ in flows]
            if period := _discrepancy(edges):
                nodes = dict.fromkeys(n for source, target, _ in edges for n in (source, target))
                yield [self.regions[n] for n in dict.fromkeys(n // 2 for n in nodes)], set(nodes), period

    def _cyclic(self) -> Iterable[list[tuple[int, int, int, Edge]]]:
        """The flows within each strongly connected component."""
        flows = list(self._flows())
        component = strong_components(2 * len(self.regions), [(source, target) for source, target, _, _ in flows])
        inside: dict[int, list[tuple[int, int, int, Edge]]] = {}
        for flow in flows:
            if component[flow[0]] == component[flow[1]]:
                inside.setdefault(component[flow[0]], []).append(flow)
        return inside.values()

    def _leave_out(self, flows: list[tuple[int, int, int, Edge]]) -> bool:
        """Copies of memory over itself, some bytes apart: are there any?"""
        moving, places = [flow for flow in flows if flow[3].moves and flow[0] // 2 != flow[1] // 2], Places()
        for source, target, at, e in flows if moving else ():
            if not e.moves:
                places.relate(source, target, at)
        for source, target, at, e in moving:
            if places.fits(source, target, at, gcd(self.find(e.parent).period, self.find(e.child).period)):
                places.relate(source, target, at)
            else:
                e.over = True
        return any(e.over for _, _, _, e in moving)

    def _find_views(self) -> bool:
        """Turn copies into views where a period would contradict what is known; are there any?"""
        self._backflow, found = True, False
        while fresh := [
            e
            for regions, nodes, period in self._shifting()
            if not all(_repeats(r, period) for r in regions)
            for e in dict.fromkeys(e for r in regions for e in r.edges)
            if e.owns and not e.step and e.low is None
            and 2 * self.find(e.parent).id + 1 in nodes and 2 * self.find(e.child).id in nodes
        ]:  # fmt: skip
            found = True
            for e in fresh:
                e.view = True
        self._backflow = False
        return found

    def _begin_again(self) -> None:
        """Only what was seen is known."""
        for r in self.regions:
            if r.merged_into is None:
                for s in r.slots.values():
                    s.up = s.all = s.seen
                self._tell_again(r)

    def _flows(self) -> Iterator[tuple[int, int, int, Edge]]:
        """(from, to, shift, edge) of evidence along edges without a window."""
        for e in self.edges:
            if e.low is not None or e.over:
                continue
            parent, child = 2 * self.find(e.parent).id, 2 * self.find(e.child).id
            if not e.step:
                yield parent + 1, child if e.owns else child + 1, -e.at, e
            if not e.store or self._backflow:
                yield child, parent, e.at, e
            yield child, child + 1, 0, e
            yield parent, parent + 1, 0, e

    def _relax(self, e: Edge) -> None:
        parent, child = self.find(e.parent), self.find(e.child)
        if e.over:
            return
        if e.low is None:
            step = self._sync(e, parent, child)
            if step:
                self._view(e, parent, child, step)
                return
        for key, s in self._slots_down(e, parent):
            self._carry_down(e, child, key, s, parent.period)
        for key, s in self._slots_up(e, child):
            for position in positions(key, child.period, 0, e.low, e.high):
                up = _clipped(s.up, position[0], e.high) & e.only
                self._carry_up(e, parent, (position[0] + e.at, position[1]), s, up)
        self._exact_tokens(e, parent, child)

    def _slots_down(self, e: Edge, parent: Region) -> list[tuple[tuple[int, int], Slot]]:
        """Slots of the parent that changed since the child was told."""
        if e.slots_down == len(parent.changes):
            return []
        changes, e.slots_down = parent.changes[e.slots_down :], len(parent.changes)
        return [(key, parent.slots[key]) for key in dict.fromkeys(changes)]

    def _slots_up(self, e: Edge, child: Region) -> list[tuple[tuple[int, int], Slot]]:
        if e.slots_up == len(child.changes):
            return []
        changes, e.slots_up = child.changes[e.slots_up :], len(child.changes)
        return [(key, child.slots[key]) for key in dict.fromkeys(changes)]

    def _carry_down(self, e: Edge, child: Region, key: tuple[int, int], s: Slot, period: int) -> None:
        for position in positions(key, period, -e.at, e.low, e.high):
            every = _clipped(s.all, position[0], e.high) & e.only
            up = every & ~(CONFLICT_BIT | CUT_BIT) if e.owns else 0
            if every:
                self._join(child, child.key(*position), up, every)
            led = s.pointee is not None and e.only & bl.POINTER_BIT
            if s.pointee is not None and led and (e.owns or self._asks(child, child.key(*position))):
                self._link(child, child.key(*position), s.pointee, e.owns, s.tags)
        if e.low is not None and s.all & bl.FLOAT_MASK & e.only and _is_cut(key, s, period, e.low + e.at):
            self.doubt(child, child.key(e.low, 0), CUT_BIT)

    def _asks(self, r: Region, key: tuple[int, int]) -> bool:
        """Is a pointer read or written there? Else what it points to is not one with what lies there elsewhere."""
        return key in r.slots and r.slots[key].linked

    def _carry_up(self, e: Edge, parent: Region, position: tuple[int, int], s: Slot, known: int) -> None:
        key = parent.key(*position)
        blocked = e.store and (not self._backflow or (parent.id, key) in self._settled)
        if not blocked and (known or (s.all and not e.view)):
            copied = _clipped(s.all, position[0] - e.at, e.high) & e.only if e.owns else known
            self._join(parent, key, known, copied)
        if s.pointee is not None and e.only & bl.POINTER_BIT and s.linked and (not e.store or self._backflow):
            self._link(parent, key, s.pointee, True, s.tags)

    def _sync(self, e: Edge, parent: Region, child: Region) -> int:
        """Periods across an edge without a window; returns the step, 0 where child and parent match exactly."""
        if e.owns and not e.step:
            period = gcd(parent.period, child.period)
            self.set_period(parent, period)
            self.set_period(child, period)
            return 0
        if not e.step and parent.period:
            self.set_period(child, parent.period)
        if e.step > 1 and parent.period and e.step % parent.period == 0:
            self.set_period(child, parent.period)
        step = gcd(e.step, child.period)
        return 0 if step and parent.period and step % parent.period == 0 else step

    def _view(self, e: Edge, parent: Region, child: Region, step: int) -> None:
        if step == 1:
            return
        exact = any(not key[1] and s.pointee is not None for key, s in self._slots_down(e, parent))
        changed = self._slots_up(e, child)
        for (offset, inner), s in list(child.slots.items()) if exact else changed:
            key = parent.key(offset + e.at, gcd(step, inner))
            if s.up:
                self._join(parent, key, s.up, s.up)
            if s.pointee is not None and s.linked:
                self._link(parent, key, s.pointee, True, s.tags)
                for other in self._matching(parent, offset + e.at, step):
                    beside = parent.slots[other]
                    if beside.pointee is not None and self._meet(s.tags, beside.tags):
                        self._link(parent, other, s.pointee, beside.linked, beside.tags)
        for token, _ in self._news_up(e, child):
            if step % token.type.size == 0 and not _is_part(token, step):
                self._add_token(parent, Token(token.type, token.at + e.at), WEAK, up=True)
        for token, level in self._news(e, parent):
            if (found := element_of(token, e.at, step, parent.period)) is not None:
                self._add_token(child, found, max(level, DECLARED), up=False)

    def _meet(self, a: frozenset[Tag | None], b: frozenset[Tag | None]) -> bool:
        """May the pointers in an array and one that lies beside it, by the types of accesses, be the same?"""
        return not a or not b or any(self._may_alias(x, y) for x in a for y in b)

    def _news(self, e: Edge, parent: Region) -> list[tuple[Token, int]]:
        """Tokens that the child does not know yet, with their levels."""
        if e.down == len(parent.news):
            return []
        news, e.down = parent.news[e.down :], len(parent.news)
        return [(token, parent.tokens[token]) for token in news]

    def _news_up(self, e: Edge, child: Region) -> list[tuple[Token, int]]:
        if e.up == len(child.news_up):
            return []
        news, e.up = child.news_up[e.up :], len(child.news_up)
        return [(token, child.tokens_up[token]) for token in news]

    def _matching(self, r: Region, offset: int, step: int) -> Iterator[tuple[int, int]]:
        """Keys of exact slots that element k·step from `offset` may be."""
        step = gcd(step, r.period)
        return (k for k in r.slots if k[1] == 0 and (k[0] - offset) % step == 0 and (r.period or k[0] >= offset))

    def _exact_tokens(self, e: Edge, parent: Region, child: Region) -> None:
        plain = not e.at and e.low is None
        for token, level in self._news(e, parent):
            if (moved := token if plain else moved_to(token, -e.at, e.low, e.high, parent.period)) is not None:
                self._add_token(child, moved, max(level, DECLARED), up=e.owns)
        for token, level in self._news_up(e, child):
            low = None if e.low is None else e.low + e.at
            high = None if e.high is None else e.high + e.at
            moved = token if plain else moved_to(token, e.at, low, high, child.period)
            if moved is None or (e.store and not self._backflow):
                continue
            if moved.low is None and moved.high is None:
                if level <= DECLARED:
                    start = moved.at + (e.at - moved.at) // moved.type.size * moved.type.size
                    core = Token(moved.type, start, start, start + moved.type.size)
                    self._add_token(parent, core, DECLARED, up=True)
                level = WEAK
            self._add_token(parent, moved, max(level, DECLARED), up=True)

    def _declare_pointees(self, r: Region) -> None:
        """Declared types of stored pointers declare what they point to."""
        changed, r.told_changes = r.changes[r.told_changes :], len(r.changes)
        fresh = [k for k in changed if not k[1] and k not in r.told and r.slots[k].pointee is not None]
        since, r.told_news = r.told_news, len(r.news)
        said = spoken_of([k for k, _ in r.told], r.news[since:], r.period) if since < len(r.news) else []
        said += spoken_of(list(dict.fromkeys(k for k, _ in fresh)), r.news, r.period) if fresh else []
        r.told.update(dict.fromkeys(fresh))
        for offset, token, inside in said:
            pointee = r.slots[offset, 0].pointee
            assert pointee is not None
            self._declare_pointee(pointee, token, r.tokens[token], inside)

    def _declare_pointee(self, pointee: Region, token: Token, level: int, inside: int) -> None:
        for found in token_scalars(token, inside):
            if found.pointer is not None and found.start == inside:
                strength = OWN if level <= DECLARED else level
                self.declare_pointer(pointee, 0, found.pointer.to(), strength, found.pointer.reference)

    # --- agreement ----------------------------------------------------------------------------------------------

    def _agreements(self) -> list[tuple[Edge, int, int]]:
        """Slots of an array that nothing is known of, where its owner is walked in the same steps as one kind."""
        found = []
        known: dict[tuple[int, int], dict[int, int]] = {}
        steps = [(e, step) for e in self.edges if (step := self.step(e)) > 1]
        for e, step in steps:
            child, parent = self.find(e.child), self.find(e.parent)
            if (parent.id, step) not in known:
                known[parent.id, step] = _residues(parent, step)
            for start, mask in known[parent.id, step].items():
                residue = (start - e.at) % step
                s = child.slots.get(child.key(residue, 0))
                if s is None or not s.all:
                    found.append((e, residue, mask))
        return found

    def doubt(self, r: Region, key: tuple[int, int], cut: int = 0) -> None:
        """What the slot was taken for may be wrong: it is a conflict, and so is what was read from it."""
        before = r.slots[key].all if key in r.slots else 0
        self._join(r, key, 0, CONFLICT_BIT | cut)
        self.doubts += not before & CONFLICT_BIT

    def learn(self, r: Region, key: tuple[int, int], mask: int) -> None:
        """What is moved there is a float at other times."""
        before = r.slots[key].all if key in r.slots else 0
        self._join(r, key, 0, mask)
        self.doubts += bool(mask & ~before)

    def settle(self) -> None:
        """Carry on to a fixpoint after changes."""
        self._fixpoint()

    def step(self, e: Edge) -> int:
        """The unknown multiple by which child and parent are apart; 0 where they match exactly."""
        return self._sync(e, self.find(e.parent), self.find(e.child)) if e.low is None else 0

    def _check_agreements(self, guesses: list[tuple[Edge, int, int]]) -> None:
        """What was taken over by agreement must still be agreed upon when all is known; what was added is added."""
        fresh = guesses
        while fresh:
            grown = []
            for e, residue, mask in fresh:
                child, now = self.find(e.child), self._agreed_now(e, residue, mask)
                s = child.slots.get(child.key(residue, 0))
                if s is None or now == mask:
                    continue
                if now is None or mask & ~now:
                    self._join(child, child.key(residue, 0), 0, CONFLICT_BIT | CUT_BIT)
                else:
                    self._join(child, child.key(residue, 0), 0, now)
                    grown.append((e, residue, now))
            self._fixpoint()
            fresh = [(e, n, mask) for e, n, mask in grown if self._agreed_now(e, n, mask) != mask]

    def _agreed_now(self, e: Edge, residue: int, mask: int) -> int | None:
        step = self.step(e)
        start = (residue + e.at) % step if step > 1 else 0
        return _residues(self.find(e.parent), step, start).get(start) if step > 1 else mask


def declared(r: Region, offset: int) -> list[tuple[Token, Found, int]]:
    """What declared types say of the byte at `offset`, with their levels; starts are relative to it (≤ 0)."""
    found = []
    for token, level in r.tokens.items():
        inside = token.within(offset, r.period)
        if inside is not None:
            scalars = token_scalars(token, inside)
            found += [(token, Found(f.mask, f.start - inside, f.size, f.pointer), level) for f in scalars]
    return found


def _residues(parent: Region, step: int, only: int | None = None) -> dict[int, int]:
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
        if only in (None, residue) and not any(_vetoes(key, s, residue, mask, step) for key, s in slots)
    }


def _vetoes(key: tuple[int, int], s: Slot, start: int, mask: int, step: int) -> bool:
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


def _clipped(mask: int, offset: int, high: int | None) -> int:
    """A mask as seen through a window that ends at `high`: integers are cut, a float that is cut is a conflict."""
    if high is None or bl.mask_reach(mask) <= high - offset:
        return mask
    if bl.mask_reach(mask & bl.FLOAT_MASK) > high - offset:
        return CONFLICT_BIT | CUT_BIT
    room = max(n for n in bl.INT_BITS if n <= high - offset)
    for every, bits in ((bl.INT_MASK, bl.INT_BITS), (bl.LIKELY_INT, bl.LIKELY_INTS)):
        mask = (mask & ~every) | bits[room] if mask & every else mask
    return mask


def _is_cut(key: tuple[int, int], s: Slot, period: int, low: int) -> bool:
    """Does a window that starts at `low` cut into a float?"""
    apart = (low - key[0]) % period if period else low - key[0]
    return not key[1] and 0 < apart < bl.mask_reach(s.all & bl.FLOAT_MASK)


def _is_part(token: Token, step: int) -> bool:
    """Does a token speak of some bytes of each `step` only?"""
    return token.low is not None and token.high is not None and token.high - token.low < step


def _walked(r: Region) -> list[tuple[int, int, int]]:
    """(offset, step, mask) of what was seen as floats alone, or as pointers alone, wherever an array was walked."""
    found = ((o, step, s.all & ~bl.LIKELY_INT) for (o, step), s in r.slots.items() if step)
    return [(o, step, mask) for o, step, mask in found if mask & bl.FLOAT_MASK == mask or mask == bl.POINTER_BIT]


def _repeats(r: Region, period: int) -> bool:
    """Is what is known of a region the same at every multiple of `period`, or may it be?"""
    if r.period and period % r.period == 0:
        return True
    known: dict[int, int] = {}
    for (offset, step), s in r.slots.items():
        mask = s.all & ~bl.LIKELY_INT
        if mask and not step and known.setdefault(offset % period, mask) != mask:
            return False
    return True


def _discrepancy(edges: list[tuple[int, int, int]]) -> int:
    """The gcd of the offsets around the cycles of one strongly connected component."""
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for source, target, at in edges:
        neighbours.setdefault(source, []).append((target, at))
        neighbours.setdefault(target, []).append((source, -at))
    start = edges[0][0]
    place, stack, period = {start: 0}, [start], 0
    while stack:
        n = stack.pop()
        for m, at in neighbours[n]:
            if m not in place:
                place[m] = place[n] + at
                stack.append(m)
            period = gcd(period, place[n] + at - place[m])
    return period


def _may_be_longer(t: ByteType) -> bool:
    return isinstance(t, Record) and t.polymorphic


def _says_nothing(t: ByteType) -> bool:
    """`void`, and characters: a `char *` may point to anything."""
    if isinstance(t, Sequence):
        return _says_nothing(t.element)
    return isinstance(t, Unknown) or not t.size or getattr(t, "encoding", "") in ("char", "uchar")


__all__ = ["Edge", "Graph", "Region", "Slot", "declared"]
