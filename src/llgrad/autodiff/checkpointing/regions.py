"""The memory that a time loop writes: pieces of it that are copied when a checkpoint is taken, and put back.

What is copied must hold all that is written, and nothing that the loop does not touch: it may be anything, the shadow
of what is copied even. So the ends of a piece are those of accesses that *certainly* happen: in every iteration of the
loops around them, or whenever a comparison of numbers known at the entry holds. Accesses under other conditions
must lie within them, which is tested as the loop begins; or in memory whose size is known, which is then copied as a
whole. Buffers that take turns in one pointer are taken to be of the same size.

`regions` reads the function of one loop (`outlining`), in terms of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from llgrad.analysis.cfg.flow import flow
from llgrad.analysis.memory.access_ranges import Extents, Reader
from llgrad.analysis.memory.call_effects import STOPS, behaviour
from llgrad.analysis.memory.conditional_accesses import Condition, conjunction, held
from llgrad.analysis.memory.entry_polynomials import (
    Frame,
    Place,
    Places,
    Refused,
    argument_name,
    given_number,
    is_readable,
)
from llgrad.analysis.memory.polynomial_bounds import Between, Poly, Unbounded, Value, Writer
from llgrad.ir.module import Module
from llgrad.ir.types import PointerType, is_float
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Block,
    Branch,
    Call,
    Function,
    Instruction,
    Return,
    Store,
    Switch,
)
from llgrad.rules import library


class Piece(Struct):
    """What is touched behind one argument. `sure`: ranges with what they happen under; `unsure`: the others.

    `unknown`: an access of which nothing is known.
    """

    base: Argument
    sure: dict[tuple[Poly, Poly, tuple[Condition, ...]], bool] = field(default_factory=dict)  # is it written?
    unsure: dict[tuple[Poly, Poly], tuple[bool, Instruction]] = field(default_factory=dict)
    unknown: tuple[bool, Instruction] | None = None
    written: bool = False


class Regions(Struct):
    """By argument; what `found.needs` says must be tested, too (`access_ranges`).

    `elsewhere`: an access that only reads, through a pointer of which nothing is known.
    """

    pieces: dict[Argument, Piece]
    found: Extents
    iterations: frozenset[Between]  # those of loops
    elsewhere: Instruction | None
    bits: bool  # is anything but floats written?

    def exact(self, p: Poly) -> bool:
        """Are the bounds of the polynomial met? Sums of iterations take their extremes, and products by the count."""
        for m in p.terms:
            between = [x for x in m if isinstance(x, Between)]
            if len(between) > 1:
                return False
            for x in between:
                if x not in self.iterations or x.low is None or x.high is None:
                    return False
                if not (self.exact(x.low) and self.exact(x.high)):
                    return False
        return True


class Unknown(Exception):
    """What a loop writes cannot be found out; the message says why, `at` where."""

    def __init__(self, message: str, at: Instruction | None = None) -> None:
        super().__init__(message)
        self.at = at


def regions(module: Module, steps: Function, opaque: Iterable[str] = ()) -> Regions:
    """What `steps` touches."""
    reader = _Recorder(module, Extents(), frozenset(opaque))
    numbers = {a: Poly.of(given_number(a)) for a in steps.arguments if is_readable(a.type)}
    pointers = [a for a in steps.arguments if isinstance(a.type, PointerType)]
    places: dict[Argument, Places] = {a: (Place(a, Poly.of(0)),) for a in pointers}
    try:
        reader.function(Frame(steps, flow(steps), numbers, places, (steps,)))
    except Refused as reason:
        raise Unknown(str(reason), reader.at) from None
    iterations = frozenset(
        x for f in reader.frames for loop, x in f.iterations.items()
        if sum(f.flow.reaches_return(out) for _, out in loop.exits) == 1
    )  # fmt: skip
    return Regions(reader.pieces, reader.found, iterations, reader.elsewhere, reader.bits)


class _Recorder(Reader):
    """Reads extents, and under what conditions each access happens."""

    def __init__(self, module: Module, found: Extents, opaque: frozenset[str]) -> None:
        super().__init__(module, found, opaque)
        self.pieces: dict[Argument, Piece] = {}
        self.calls: list[tuple[Frame, Call]] = []
        self.frames: list[Frame] = []
        self.refused: dict[tuple[Frame, AnyValue], str] = {}
        self.at: Instruction | None = None
        self.elsewhere: Instruction | None = None
        self.bits = False

    def function(self, f: Frame) -> None:
        self.frames.append(f)
        super().function(f)

    def instruction(self, f: Frame, i: Instruction) -> None:
        self.at = i
        stored = i.pointer if isinstance(i, Store) and isinstance(i.value.type, PointerType) else None
        if stored is not None and any(p.base is not None for p in self.pointer(f, stored)):
            raise Refused("it stores pointers in memory, and their shadows are not kept")
        super().instruction(f, i)

    def pointer(self, f: Frame, v: AnyValue) -> Places:
        if (f, v) in self.refused:
            raise Refused(self.refused[f, v])
        try:
            return super().pointer(f, v)
        except Refused as reason:
            self.refused[f, v] = str(reason)
            raise

    def call(self, f: Frame, call: Call) -> None:
        callee = call.called_function
        if callee is not None and callee.is_declaration and not _may_run_again(call, callee):
            raise Refused(f"it calls {callee.name}, which cannot be run again without being noticed")
        super().call(f, call)

    def enter(self, f: Frame, call: Call, callee: Function) -> None:
        self.calls.append((f, call))
        super().enter(f, call, callee)
        self.calls.pop()

    def touch(self, f: Frame, by: Instruction, pointer: AnyValue, size: Poly | None, written: bool) -> None:
        try:
            places = self.pointer(f, pointer)
        except Refused:
            if written:
                raise
            self.elsewhere = by
            return
        guards = self.certain(f, by.block)
        for place in places:
            if place.base is None:
                continue
            piece = self.pieces.setdefault(place.base, Piece(place.base))
            piece.written |= written
            if written and not (isinstance(by, Store) and is_float(by.value.type)):
                self.bits = True
            if place.offset is None or size is None:
                if piece.unknown is None or written:
                    piece.unknown = written, by
                continue
            ends = place.offset, place.offset + size
            if guards is None:
                before, _ = piece.unsure.get(ends, (False, by))
                piece.unsure[ends] = before or written, by
            else:
                piece.sure[(*ends, guards)] = written or piece.sure.get((*ends, guards), False)

    # --- what certainly happens

    def certain(self, f: Frame, block: Block) -> tuple[Condition, ...] | None:
        """The conditions under which `block` runs at least once, and in each iteration around; None: not known."""
        guards: dict[Condition, None] = {}
        for frame, at in [(f, block), *((g, c.block) for g, c in reversed(self.calls))]:
            if not self._certain(frame, at, guards):
                return None
        return tuple(guards)

    def _certain(self, f: Frame, block: Block, guards: dict[Condition, None]) -> bool:
        found = f.flow
        while True:
            loop = found.loop_of(block)
            if loop is None and len(f.stack) == 1:
                return True
            if loop is None:
                ends = [b for b in found.order if isinstance(b.terminator, Return)]
                return self._reached(f, f.source.entry, block, ends, guards)
            ends = [b for b, out in loop.exits if found.reaches_return(out)]
            if loop.preheader is None or not (len(ends) == 1 or (len(f.stack) == 1 and loop.depth == 1)):
                return False  # it may end early, as the loop itself may
            if not self._reached(f, loop.header, block, [*loop.latches, *ends], guards):
                return False
            block = loop.preheader

    def _reached(self, f: Frame, start: Block, block: Block, ends: list[Block], guards: dict[Condition, None]) -> bool:
        """Does every way from `start` to one of `ends` pass `block`, under guards that are known at the entry?"""
        while not all(f.flow.dominates(block, e) for e in ends):
            above = f.flow.idom[block]
            if above is None or block is start or not f.flow.dominates(start, above):
                return False
            if any(f.flow.dominates_edge(above, t, block) for t in above.successors()):
                if not self._guard(f, above, block, guards):
                    return False
            elif not f.flow.postdominates(block, above):
                return False
            block = above
        return True

    def _guard(self, f: Frame, above: Block, block: Block, guards: dict[Condition, None]) -> bool:
        end = above.terminator
        if not isinstance(end, Branch) or isinstance(end, Switch):
            return False
        if end.condition is None:
            return True
        if not f.flow.reaches_return(next(t for t in end.targets if not f.flow.dominates_edge(above, t, block))):
            return True  # the other way ends the program
        found = None
        if len(end.targets) == 2:
            found = conjunction(self, f, end.condition, f.flow.dominates_edge(above, end.targets[0], block))
        if found is None or not all(c.pure for c in found):
            return False
        guards |= dict.fromkeys(found)
        return True


def _may_run_again(call: Call, callee: Function) -> bool:
    """Does a second call with the same arguments do the same, and nothing that is seen outside?"""
    known = library.effects(callee.name)
    if known is not None and (known.allocator is not None or known.deallocator is not None or known.noreturn):
        return True
    if callee.name.startswith("llvm.") or library.lookup(callee.name) is not None:
        return True
    found = behaviour(call, callee)
    return found is STOPS or (known is None and found.reads in ("none", "args") and found.writes == "none")


class Ends:
    """Writes where pieces begin and how long they are."""

    def __init__(self, found: Regions) -> None:
        self.found, self.w = found, Writer()

    def write(self, piece: Piece, whole: str | None) -> tuple[Value, Value]:
        """The first byte, as a distance from the argument, and the number of bytes. `whole`: name of the known size."""
        w = self.w
        for p, least, most in self.found.found.needs:
            w.within(p, least, most)
        sure = [x for x in piece.sure if self.found.exact(x[0]) and self.found.exact(x[1])]
        counts = piece.written  # what a loop writes and reads is as it was when what it writes is
        unsure = [ends for ends, (written, _) in piece.unsure.items() if written or not counts]
        unsure += [x[:2] for x, written in piece.sure.items() if x not in sure and (written or not counts)]
        unknown = piece.unknown is not None and (piece.unknown[0] or not counts)
        if whole is not None and (unknown or unsure):
            return 0, whole
        if unknown or not sure:
            what = "it accesses memory under conditions, or at places, that are not known before it runs"
            raise Unknown(what, self.at(piece))
        low, high = self.hull(sure)
        for a, b in unsure:
            for less, more in ((w.least(a), low), (high, w.most(b))):
                if not (isinstance(less, int) and isinstance(more, int)):
                    w.failures[w.emit(f"icmp slt i64 {less}, {more}")] = None
                elif less < more:
                    what = "it accesses memory under conditions that are not known before it runs"
                    raise Unknown(what, self.at(piece))
        size = w.larger(w.add(high, w.multiply(low, -1)), 0)
        return low, size

    def hull(self, sure: Sequence[tuple[Poly, Poly, tuple[Condition, ...]]]) -> tuple[Value, Value]:
        """From the least to the largest of what happens; empty where nothing does."""
        w = self.w
        low: Value | None = None
        high: Value | None = None
        lowest, highest = (1 << 62), -(1 << 62)
        for first, last, guards in sure:
            a, b = w.least(first), w.most(last)
            if guards:
                holds = held(w, guards, {})
                a = w.emit(f"select i1 {holds}, i64 {a}, i64 {lowest}")
                b = w.emit(f"select i1 {holds}, i64 {b}, i64 {highest}")
            low = a if low is None else w.smaller(low, a)
            high = b if high is None else w.larger(high, b)
        assert low is not None and high is not None
        if any(guards for _, _, guards in sure):
            some = w.emit(f"icmp slt i64 {low}, {high}")
            low = w.emit(f"select i1 {some}, i64 {low}, i64 0")
            high = w.emit(f"select i1 {some}, i64 {high}, i64 0")
        return low, high

    def at(self, piece: Piece) -> Instruction | None:
        """Where something is not known."""
        found = piece.unknown or next(iter(piece.unsure.values()), None)
        return found[1] if found is not None else None


__all__ = ["Ends", "Piece", "Regions", "Unbounded", "Unknown", "argument_name", "regions"]
