"""The constraint graph behind `analysis.types.kinds`: how evidence travels between regions that overlap (`regions`).

Masks only grow, so that solving is a fixpoint of a worklist. Offsets around a cycle of edges become periods, or some of
its edges views (`cycles`). What others know of the same array, or of the original of a copy, is asked for last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from math import gcd
from typing import Any

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.layout.byte_layouts import ByteType, Record, Sequence, Unknown, is_character
from llgrad.analysis.memory.tbaa import Tag
from llgrad.analysis.solver import reach
from llgrad.analysis.types.cycles import Cycles
from llgrad.analysis.types.declared_types import (
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
from llgrad.analysis.types.regions import (
    CONFLICT_BIT,
    CUT_BIT,
    Edge,
    Region,
    Slot,
    clipped,
    find,
    is_asked,
    is_cut,
    positions,
    residues,
    walked,
)

_MOST_SLOTS, _MOST_TOKENS, _MOST_ASKED, _FARTHEST = 8192, 64, 256, 1 << 16


_CROWD = 256
"""Slots of a region from which circles are looked for at once."""


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
        self.source: Any = None  # the instruction, function or variable that is being looked at
        self.said: list[tuple[Region, tuple[int, int], int, Any]] = []  # evidence, and the source of each
        self.declared: list[tuple[Region, Token, Any]] = []  # types, likewise
        self.reasons: dict[tuple[int, tuple[int, int]], dict[tuple[Region, tuple[int, int]], None]] = {}  # for doubts
        self._settled: set[tuple[int, tuple[int, int]]] = set()
        self._never_asked = self._settled

    # --- building -----------------------------------------------------------------------------------------------

    def region(self) -> Region:
        r = Region(len(self.regions))
        self.regions.append(r)
        return r

    def edge(
        self, parent: Region, at: int, child: Region, *, step: int = 0, size: int | None = None,
        to: int = 0, store: bool = False, unit: int = 0, only: int = -1, moves: bool = False,
    ) -> None:  # fmt: skip
        """Relate two regions. With `size`, bytes [to, to+size) of the child are bytes [at, at+size) of the parent."""
        parent, child = find(parent), find(child)
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
        self._touch(find(parent))

    def evidence(self, r: Region, offset: int, mask: int, step: int = 0) -> None:
        """The scalar at `offset`, and at all multiples of `step` from there, was seen to be of a kind in `mask`."""
        self.said.append((r, (offset, step), mask, self.source))
        r = find(r)
        key = r.key(offset, step)
        self._join(r, key, mask, mask)
        if key in r.slots:
            r.slots[key].seen |= mask

    def pointee(self, r: Region, offset: int, tag: Tag | None = None) -> Region:
        """What the pointer stored at `offset` points to, for an access with that tag."""
        r = find(r)
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
        self.ask(r, key)
        return find(slot.pointee)

    def ask(self, r: Region, key: tuple[int, int] | None) -> None:
        """A pointer is read or written there (None: anywhere), through the region or a copy of its pointer.

        Only then are what it points to there and what that of an original does one: objects of several classes lie
        behind pointers to their base, and have pointers to different things in one place.
        """
        if key is not None and (len(r.asked) >= _MOST_ASKED or abs(key[0]) >= _FARTHEST):
            key = None
        if key not in r.asked and None not in r.asked:
            r.asked[key] = None
            r.questions.append(key)
            self._touch(r)

    def declare(self, r: Region, token: Token, level: int) -> None:
        """A declared type; `level` is OWN, DECLARED, LLVM_TYPE or WEAK."""
        if token.type.size and not isinstance(token.type, Unknown):
            self.declared.append((r, token, self.source))
            t = self._shapes.of(token.type)
            if isinstance(t, Record) and not t.members:  # an empty base lies where another member does
                if token.high is None:
                    return
                level = WEAK
            self._add_token(find(r), Token(t, token.at, token.low, token.high), level, up=True)

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
        elif find(slot.pointee) is not find(pointee):
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
        r.asked = dict.fromkeys(q and r.key(*q) for q in r.asked)
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
        r.renewals += 1
        r.told.clear()
        r.told_changes = r.told_news = 0
        r.news, r.news_up, r.changes, r.questions = list(r.tokens), list(r.tokens_up), list(r.slots), list(r.asked)
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
            a, b = (find(x) for x in self._same.pop())
            if a is b:
                continue
            if len(a.slots) + len(a.edges) < len(b.slots) + len(b.edges):
                a, b = b, a
            b.merged_into, self._merged = a, True
            for e in b.edges:
                e.forget()
            a.edges.update(b.edges)
            a.units |= b.units
            a.overflow |= b.overflow
            a.looked_at |= b.looked_at
            a.untyped |= b.untyped
            if b.period:
                self.set_period(a, b.period)
            for (offset, step), s in b.slots.items():
                self._absorb(a, a.key(offset, step), s)
            for token, level in b.tokens.items():
                self._add_token(a, token, level, up=False)
            for token, level in b.tokens_up.items():
                self._add_token(a, token, level, up=True)
            for q in b.asked:
                self.ask(a, q and a.key(*q))
            b.slots, b.edges = {}, {}
            a.renewals += 1
            self._touch(a)

    # --- solving ------------------------------------------------------------------------------------------------

    def solve(self) -> None:
        """The least solution; then what follows where nothing is known: agreement, and what copies became."""
        self._fixpoint()
        if Cycles(self.regions, self.edges, back=True).find_views():
            self._begin_again()
            self._fixpoint()
        if self._known_beside():
            self._fixpoint()
        guesses: list[tuple[Edge, int, int]] = []
        for _ in range(2):
            guesses += self._agreements()
            self._settle()
            for e, residue, mask in guesses:
                child = find(e.child)
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
        seen: dict[int, list[tuple[int, int, int]]] = {}
        found: list[tuple[Region, tuple[int, int], int]] = []
        for e in self.edges:
            parent, child = find(e.parent), find(e.child)
            if e.low is not None or (step := gcd(e.step, child.period)) <= 1:
                continue
            if parent.id not in seen:
                seen[parent.id] = walked(parent)
            for offset, inner, mask in seen[parent.id]:
                at = (offset - e.at) % step
                size = bl.mask_reach(mask & e.only)
                if inner % step or abs(offset - e.at - at) > step or not 0 < size <= step:
                    continue
                one = mask & bl.FLOAT_MASK == mask or mask == bl.POINTER_BIT
                if size < step or (one and not (child.looked_at or self.is_walked(child))):
                    found.append((child, child.key(at, 0), mask & e.only))
        fresh = [(r, key, mask) for r, key, mask in found if key not in r.slots or mask & ~r.slots[key].all]
        for r, key, mask in fresh:
            self._join(r, key, 0, mask)
        return bool(fresh)

    def is_walked(self, r: Region) -> bool:
        """Does anybody walk from there?"""

        def below(x: Region) -> list[Edge]:
            return [e for e in x.edges if find(e.parent) is x and e.low is None]

        passed = reach([r], lambda x: [find(e.child) for e in below(x) if not e.step])
        return any(e.step > 1 for x in passed for e in below(x))

    def _settle(self) -> None:
        """From here on evidence also flows from a copy back to the slots of the original that nothing is known of."""
        self._settled = {
            (r.id, key)
            for r in self.regions
            if r.merged_into is None
            for key, s in r.slots.items()
            if s.all & ~bl.LIKELY_INT
        }
        first = [] if self._backflow else [e for e in self.edges if e.store]
        self._never_asked = self._never_asked if self._backflow else self._settled
        self._backflow = self._merged = True
        for e in first:
            e.up = e.slots_up = 0
            self._touch(find(e.parent))

    def _fixpoint(self) -> None:
        budget, crowd, rounds = 10_000 + 200 * len(self.regions) + 50 * len(self.edges), _CROWD, 16
        while rounds:
            if self._merged:
                self._cycles()
            self._merged, crowded = False, False
            while self._dirty and not crowded and (budget := budget - 1) > 0:
                r = self._dirty.popleft()
                self._queued.discard(r.id)
                if r.merged_into is None:
                    for e in list(r.edges):
                        self._relax(e)
                    self._declare_pointees(r)
                    self._merge()
                    crowded = self._merged and len(r.slots) > crowd
            if not self._merged and not self._dirty:
                return
            if crowded:  # evidence may go round in a circle, some bytes further on each time
                crowd *= 2
            else:
                rounds -= 1
        for r in self.regions:  # did not settle: claim nothing
            r.overflow = True

    def _cycles(self) -> None:
        for regions, period in Cycles(self.regions, self.edges, self._backflow).periods():
            for r in regions:
                self.set_period(r, period)

    def _begin_again(self) -> None:
        """Only what was seen is known, and what types declare."""
        for r in self.regions:
            if r.merged_into is None:
                for s in r.slots.values():
                    s.up = s.all = s.seen
                r.changes, r.told_changes, r.renewals = list(r.slots), 0, r.renewals + 1
                self._touch(r)
        for e in self.edges:
            e.slots_down = e.slots_up = 0

    def _relax(self, e: Edge) -> None:
        parent, child = find(e.parent), find(e.child)
        if e.over:
            return
        self._ask_parent(e, parent, child)
        if e.low is None:
            step = self._sync(e, parent, child)
            if step:
                self._view(e, parent, child, step)
                return
        if e.slots_down != len(parent.changes):
            for key, s in self._slots_down(e, parent):
                self._carry_down(e, child, key, s, parent.period)
        if e.slots_up != len(child.changes):
            for key, s in self._slots_up(e, child):
                for position in positions(key, child.period, 0, e.low, e.high):
                    up = clipped(s.up, position[0], e.high) & e.only
                    self._carry_up(e, parent, (position[0] + e.at, position[1]), s, up)
        if e.down != len(parent.news):
            self._tokens_down(e, parent, child)
        if e.up != len(child.news_up):
            self._tokens_up(e, parent, child)

    def _ask_parent(self, e: Edge, parent: Region, child: Region) -> None:
        """What is asked of the child is asked of the parent, which answers all again if it owns."""
        if e.asked_up == len(child.questions):
            return
        fresh, e.asked_up = child.questions[e.asked_up :], len(child.questions)
        if not e.only & bl.POINTER_BIT:
            return
        e.slots_down = 0 if e.owns else e.slots_down
        for q in fresh:
            if q is None or (e.low is not None and q[1]):
                self.ask(parent, None)
            elif e.low is None:
                self.ask(parent, parent.key(q[0] + e.at, gcd(e.step, q[1])))
            else:
                for offset, _ in positions(q, child.period, 0, e.low, e.high):
                    self.ask(parent, parent.key(offset + e.at, 0))

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
            every = clipped(s.all, position[0], e.high) & e.only
            up = every & ~(CONFLICT_BIT | CUT_BIT) if e.owns else 0
            if every:
                self._join(child, child.key(*position), up, every)
            led = s.pointee is not None and e.only & bl.POINTER_BIT
            if s.pointee is not None and led and (is_asked if e.owns else _asks)(child, child.key(*position)):
                self._link(child, child.key(*position), s.pointee, e.owns, s.tags)
        if e.low is not None and s.all & bl.FLOAT_MASK & e.only and is_cut(key, s, period, e.low + e.at):
            self.doubt(child, child.key(e.low, 0), CUT_BIT, (find(e.parent), key))

    def _carry_up(self, e: Edge, parent: Region, position: tuple[int, int], s: Slot, known: int) -> None:
        key = parent.key(*position)
        blocked = e.store and (not self._backflow or (parent.id, key) in self._settled)
        if not blocked and (known or (s.all and not e.view)):
            copied = clipped(s.all, position[0] - e.at, e.high) & e.only if e.owns else known
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

    def _tokens_down(self, e: Edge, parent: Region, child: Region) -> None:
        plain, owns, period = not e.at and e.low is None, e.owns, parent.period
        for token, level in self._news(e, parent):
            if (moved := token if plain else moved_to(token, -e.at, e.low, e.high, period)) is not None:
                self._add_token(child, moved, max(level, DECLARED), up=owns)

    def _tokens_up(self, e: Edge, parent: Region, child: Region) -> None:
        plain = not e.at and e.low is None
        low = None if e.low is None else e.low + e.at
        high = None if e.high is None else e.high + e.at
        for token, level in self._news_up(e, child):
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
            child, parent = find(e.child), find(e.parent)
            if (parent.id, step) not in known:
                known[parent.id, step] = residues(parent, step)
            for start, mask in known[parent.id, step].items():
                residue = (start - e.at) % step
                s = child.slots.get(child.key(residue, 0))
                if s is None or not s.all:
                    found.append((e, residue, mask))
        return found

    def doubt(
        self, r: Region, key: tuple[int, int], cut: int = 0, reason: tuple[Region, tuple[int, int]] | None = None
    ) -> None:
        """What the slot was taken for may be wrong: it is a conflict, and so is what was read from it. The `reason` is
        a slot where floats are."""
        if reason is not None:
            self.reasons.setdefault((r.id, key), {})[reason] = None
        before = r.slots[key].all if key in r.slots else 0
        self._join(r, key, 0, CONFLICT_BIT | cut)
        self.doubts += not before & CONFLICT_BIT

    def learn(
        self, r: Region, key: tuple[int, int], mask: int, reason: tuple[Region, tuple[int, int]] | None = None
    ) -> None:
        """What is moved there is a float at other times, as `reason` shows."""
        if reason is not None:
            self.reasons.setdefault((r.id, key), {})[reason] = None
        before = r.slots[key].all if key in r.slots else 0
        self._join(r, key, 0, mask)
        self.doubts += bool(mask & ~before)

    def asks_copies(self, r: Region, key: tuple[int, int]) -> bool:
        """Was it ever asked what copies of a slot became?"""
        return (r.id, key) not in self._never_asked

    def settle(self) -> None:
        """Carry on to a fixpoint after changes."""
        self._fixpoint()

    def step(self, e: Edge) -> int:
        """The unknown multiple by which child and parent are apart; 0 where they match exactly."""
        return self._sync(e, find(e.parent), find(e.child)) if e.low is None else 0

    def _check_agreements(self, guesses: list[tuple[Edge, int, int]]) -> None:
        """What was taken over by agreement must still be agreed upon when all is known; what was added is added."""
        fresh = guesses
        while fresh:
            grown = []
            for e, residue, mask in fresh:
                child, now = find(e.child), self._agreed_now(e, residue, mask)
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
        return residues(find(e.parent), step, start).get(start) if step > 1 else mask


def _asks(r: Region, key: tuple[int, int]) -> bool:
    """Is a pointer read or written there? Else what it points to is not one with what lies there elsewhere."""
    return key in r.slots and r.slots[key].linked


def _is_part(token: Token, step: int) -> bool:
    """Does a token speak of some bytes of each `step` only?"""
    return token.low is not None and token.high is not None and token.high - token.low < step


def _may_be_longer(t: ByteType) -> bool:
    return isinstance(t, Record) and t.polymorphic


def _says_nothing(t: ByteType) -> bool:
    """`void`, and characters: a `char *` may point to anything."""
    if isinstance(t, Sequence):
        return _says_nothing(t.element)
    return isinstance(t, Unknown) or not t.size or is_character(t)


__all__ = ["Graph"]
