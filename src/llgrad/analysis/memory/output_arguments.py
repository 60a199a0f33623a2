"""Pointer arguments whose memory a call writes before it reads it: outputs, whatever the memory held before.

`outputs(module, root)` walks the function and what it calls, loops inside out, with what has certainly been written on
every way: `Box`es, bytes [low, low + size) and the same again at strides, as polynomials (`polynomial_bounds`) in the
integer arguments and in the iterations of the loops around. Nothing unwrites memory, so that boxes are only ever added:

    a store, memset, memcpy            its bytes
    an iteration of a loop             what every way around wrote, in all iterations before: one more stride. A stride
                                       that is the size makes bytes that follow each other one piece
    a loop's end                       its iterations are its count, where there is one way out and that is certain
    ways that meet                     what all wrote; what one did not write, on the condition that it was not taken
                                       (no loop over n elements is entered where n ≤ 0)

A load is covered where one box holds its bytes (`polynomial_proofs`). Anything else may be read before it is written:
"no" means "not found". Assumed is that no two arguments' memory overlaps; functions that are called see their caller's
places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from llgrad.analysis.cfg.flow import Loop, flow
from llgrad.analysis.cfg.loops import OPPOSITE
from llgrad.analysis.memory.access_ranges import Extents, Reader
from llgrad.analysis.memory.call_effects import STOPS, behaviour
from llgrad.analysis.memory.entry_polynomials import (
    Frame,
    Place,
    Places,
    Refused,
    given_number,
    is_readable,
    tests,
)
from llgrad.analysis.memory.polynomial_bounds import Between, Known, Poly, Unbounded
from llgrad.analysis.memory.polynomial_proofs import Fact, Need, Proof
from llgrad.analysis.memory.symbolic_sizes import Piece, Sizes, Sum, Written
from llgrad.analysis.memory.written_boxes import Box, Boxes, with_box
from llgrad.ir.module import Module
from llgrad.ir.types import IntType, PointerType
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    Function,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
)

T = TypeVar("T")
MOST_STEPS = 200_000  # instructions, each time they are walked
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


Pieces = tuple[dict[Piece, None], set[Need]]
State = dict[Argument, Boxes]
Edge = tuple[Block, Block]


class Outputs(Struct):
    """`filled`: arguments that are written before they are read, each with what must be tested for that to hold.
    `unknown`: others that are read, with why that may be before. `written`: of arguments that are written, what, and
    what must be tested; not of those of which that is not known."""

    filled: dict[Argument, frozenset[Need]] = field(default_factory=dict)
    unknown: dict[Argument, str] = field(default_factory=dict)
    written: dict[Argument, Pieces] = field(default_factory=dict)
    numbers: dict[Known, int] = field(default_factory=dict)  # which argument an unknown is

    def sizes(self) -> tuple[dict[int, tuple[Sum, ...]], dict[int, Written]]:
        """`filled` and `written` as data, by positions, as far as that can be told at the entry."""
        filled: dict[int, tuple[Sum, ...]] = {}
        written: dict[int, Written] = {}
        sizes = Sizes(self.numbers)
        for a, needs in self.filled.items():
            with suppress(Unbounded):
                filled[a.index] = sizes.tests(needs)
        for a, (pieces, more) in self.written.items():
            with suppress(Unbounded):
                written[a.index] = Written(tuple(pieces), sizes.tests(more))
        return filled, written

    def __str__(self) -> str:
        lines = [f"%{a.name}: written before it is read" for a in self.filled]
        return "\n".join([*lines, *(f"%{a.name}: {why}" for a, why in self.unknown.items())])


def outputs(module: Module, root: Function) -> Outputs:
    """Which pointer arguments of `root` are written before they are read, of those that it may read and write."""
    found = Outputs()
    for a in root.arguments:
        if isinstance(a.type, PointerType) and not any(a.attribute(n) for n in ("readnone", "readonly")):
            if _may_be_kept(a):
                found.unknown[a] = "its address may be kept"
                continue
            found.written[a] = {}, set()
            if not a.attribute("writeonly"):
                found.filled[a] = frozenset()
    if found.written:
        numbers = {a: given_number(a) for a in root.arguments if is_readable(a.type)}
        found.numbers = {x: a.index for a, x in numbers.items()}
        walk = _Walk(module, found, Sizes(found.numbers))
        given = {a: Poly.of(x) for a, x in numbers.items()}
        pointers = [a for a in root.arguments if isinstance(a.type, PointerType)]
        places: dict[Argument, Places] = {a: (Place(a, Poly.of(0)),) for a in pointers}
        least = tuple(Fact(p, frozenset({(p, 0, _HIGHEST)})) for p in given.values())
        try:
            walk.run(Frame(root, flow(root), given, places, (root,)), least, {})
        except Refused as reason:
            found.written.clear()
            for a in list(found.filled):
                walk.fail(a, str(reason))
    return found


def _may_be_kept(a: Argument) -> bool:
    """May a pointer that comes from this argument be somewhere where it is not seen?"""
    captures = a.attribute("captures")
    return captures is None or "provenance" in str(captures.value)


class _Walk(Reader):
    """Goes through code in the order in which it is run; see the module."""

    def __init__(self, module: Module, found: Outputs, sizes: Sizes) -> None:
        super().__init__(module, Extents(), frozenset())
        self.made, self.sizes, self.checking, self.steps = found, sizes, True, MOST_STEPS
        self.notes: dict[object, dict[Need, None]] = {}
        self.counted: dict[Between, frozenset[Need]] = {}  # what the counts of loops need
        self.facts: dict[tuple[Frame, Block], tuple[Fact, ...]] = {}
        self.frames: dict[tuple[Frame, Call], Frame] = {}
        self.exact: dict[tuple[Frame, Loop], Edge] = {}
        self.around: list[Between] = []  # the iterations of the loops that are being walked

    def fail(self, a: Argument, why: str) -> None:
        if self.made.filled.pop(a, None) is not None:
            self.made.unknown[a] = why

    # --- numbers and places, and what must be tested so that they hold

    def number(self, f: Frame, v: AnyValue) -> Poly | None:
        return self._noted((f, v), lambda: super(_Walk, self).number(f, v))

    def offset(self, f: Frame, gep: GetElementPtr) -> Poly | None:
        """Where an index is no polynomial, it is a number all the same."""
        return self._noted((f, gep, "offset"), lambda: super(_Walk, self).offset(f, gep))

    def pointer(self, f: Frame, v: AnyValue) -> Places:
        def places() -> Places:
            try:
                return super(_Walk, self).pointer(f, v)
            except Refused:
                return tuple(Place(a, None) for a in self._origins(f, v))

        return self._noted((f, v, "pointer"), places)

    def intrinsic(self, f: Frame, call: Call, name: list[str]) -> Poly | None:
        """The larger of two numbers is one of them, where it is known which."""
        if name and name[0] in ("smin", "smax", "umin", "umax"):
            a, b = (self.number(f, x) for x in call.arguments)
            known, signed = self._known(f, call), name[0][0] == "s"
            for one, other in ((a, b), (b, a)):
                if one is None or other is None or not (signed or self._shown(other, known)):
                    continue
                if self._shown(one - other, known):
                    return one if name[0][1:] == "max" else other
        return super().intrinsic(f, call, name)

    def _known(self, f: Frame, i: Instruction) -> tuple[Fact, ...]:
        """The facts of the block in which an instruction is, as far as they are known."""
        block: Block | None = i.block
        while block is not None and (f, block) not in self.facts:
            block = f.flow.idom[block]
        return self.facts[f, block] if block is not None else ()

    def _noted(self, key: object, make: Callable[[], T]) -> T:
        """What `make` gives; what it needs is noted, for the next time that it is asked for."""
        outer = self.found.needs
        if key in self.notes:
            outer.update(self.notes[key])
            return make()
        self.found.needs = {}
        try:
            return make()
        finally:
            self.notes[key] = own = self.found.needs
            self.found.needs = outer
            outer.update(own)

    def _origins(self, f: Frame, v: AnyValue) -> list[Argument]:
        """The arguments of the root from which a pointer may come."""
        work, found = [v], dict[AnyValue, None]()
        while work:
            if (v := work.pop()) not in found:
                found[v] = None
                match v:
                    case GetElementPtr() | Cast():
                        work.append(v.operands[0])
                    case Phi() | Select() | Call():
                        work += [x for x in v.operands if isinstance(x.type, PointerType)]
        own = [p.base for a in found if isinstance(a, Argument) for p in f.pointed.get(a, ())]
        return list(dict.fromkeys(a for a in own if a is not None))

    def _needs(self, polys: Iterable[Poly]) -> frozenset[Need]:
        """What the unknowns of polynomials need."""
        found, work, seen = set[Need](self.found.needs), list(polys), set[Between]()
        while work:
            for x in (x for m in work.pop().terms for x in m if isinstance(x, Between) and x not in seen):
                seen.add(x)
                found |= self.counted.get(x, frozenset())
                work += [p for p in (x.low, x.high) if p is not None]
        return frozenset(found)

    # --- functions

    def run(self, f: Frame, base: tuple[Fact, ...], before: State) -> State | None:
        """What is written where the function returns; None where it does not."""
        if f.flow.irreducible:
            raise Refused(f"{f.source.name} has a cycle with several entries")
        if (f, f.flow.order[0]) not in self.facts:
            for loop in f.flow.loops:
                self.iteration(f, loop)
            self._find_facts(f, base)
            for loop in f.flow.loops:
                self._count(f, loop)
        edges = self._region(f, None, before)
        ends = [b for b in f.flow.order if isinstance(b.terminator, Return)]
        return self._meet([(edges[b, b], self.facts[f, b]) for b in ends]) if ends else None

    def _region(self, f: Frame, loop: Loop | None, before: State) -> dict[Edge, State]:
        """What is written on the edges of a loop's body (the function's), once."""
        edges: dict[Edge, State] = {}
        order = loop.order if loop else f.flow.order
        for block in order:
            own = f.flow.loop_of(block)
            inner = own is not None and own is not loop
            if own is not None and inner and (own.header is not block or own.parent is not loop):
                continue
            preds = [p for p in f.flow.predecessors[block] if (p, block) in edges]
            ways = [(edges[p, block], self._on_edge(f, p, block)) for p in preds]
            state = before if block is order[0] else self._meet(ways)
            if own is not None and inner:
                edges.update(self._loop(f, own, state))
                continue
            state = self._block(f, block, state)
            edges.update(((block, t), state) for t in block.successors() or (block,))
        return edges

    def _loop(self, f: Frame, loop: Loop, before: State) -> dict[Edge, State]:
        made, checking = f.iterations[loop], self.checking
        self.around.append(made)
        self.checking = False
        edges = self._region(f, loop, before)
        ways = [(edges[b, loop.header], self.facts[f, b]) for b in loop.latches]
        self.checking = checking
        again = self._before(f, loop, made, before, self._meet(ways))
        edges = self._region(f, loop, again)
        self.around.pop()
        return {e: self._left(f, loop, made, e, edges[e]) for e in loop.exits if e in edges}

    def _before(self, f: Frame, loop: Loop, made: Between, before: State, after: State) -> State:
        """What is written where an iteration begins, from what one writes."""
        found = dict(before)
        for a, boxes in after.items():
            old = before.get(a, {})
            for box, needs in boxes.items():
                low, stride = box.low.split(made)
                if box in old or stride == Poly.of(0):
                    continue
                count = Poly.of(made)
                every = (low, stride, box.size, *box.conditions, *(p for s in box.strides for p in s))
                if all(self.steady(f, loop, p) for p in every):
                    more = replace(box, low=low, strides=box.strides | {(stride, count)})
                    found[a] = with_box(found.get(a, {}), more, needs)
        return found

    def _left(self, f: Frame, loop: Loop, made: Between, edge: Edge, state: State) -> State:
        """What is written where a loop is left: the iteration is the last one."""
        last = made.high if self.exact.get((f, loop)) == edge else None
        if last is None:
            return state
        proof = Proof(self.facts[f, edge[0]])
        sure = proof.shows(last)
        relied = frozenset(n for fact in proof.used for n in fact.needs) if sure else frozenset()
        found = dict(state)
        for a, boxes in state.items():
            for box, needs in boxes.items():
                if any(made in m for p in box.polys for m in p.terms):
                    ended = box.put(made, last)
                    ended = ended if sure else replace(ended, conditions=ended.conditions | {last})
                    found[a] = with_box(found[a], ended, needs | relied | self.counted.get(made, frozenset()))
        return found

    def _count(self, f: Frame, loop: Loop) -> None:
        """How often the loop goes round: from an exit that alone decides it, or at most."""
        made = self.iteration(f, loop)
        outer, self.found.needs = self.found.needs, {}
        leading = [e for e in loop.exits if f.flow.reaches_return(e[1])]
        if len(leading) == 1 and self.count(f, loop, *leading[0], made):
            if _decides(*leading[0]):
                self.exact[f, loop] = leading[0]
        else:
            any(self.count(f, loop, block, out, made) for block, out in loop.exits)
        self.counted[made] = frozenset(self.found.needs)
        self.found.needs = outer

    # --- ways

    def _find_facts(self, f: Frame, base: tuple[Fact, ...]) -> None:
        for b in f.flow.order:
            above = f.flow.idom[b]
            known = base if above is None else self.facts[f, above]
            entering = [p for p in f.flow.predecessors[b] if not f.flow.dominates(b, p)]
            more = self._edge_facts(f, entering[0], b) if len(entering) == 1 else ()
            self.facts[f, b] = tuple(dict.fromkeys((*more, *known)))

    def _on_edge(self, f: Frame, source: Block, target: Block) -> tuple[Fact, ...]:
        return (*self._edge_facts(f, source, target), *self.facts[f, source])

    def _edge_facts(self, f: Frame, source: Block, target: Block) -> tuple[Fact, ...]:
        branch = source.terminator
        if not isinstance(branch, Branch) or branch.condition is None or branch.targets[0] is branch.targets[1]:
            return ()
        found: list[Fact] = []
        for test, positive in tests(branch.condition, branch.targets[0] is target):
            found += self._said(f, test, positive, self.facts[f, source])
        return tuple(found)

    def _shown(self, p: Poly, known: Iterable[Fact]) -> bool:
        """Is p ≥ 0? What that relies on is needed."""
        proof = Proof(known)
        shown = proof.shows(p)
        self.found.needs.update(dict.fromkeys(n for fact in proof.used for n in fact.needs) if shown else {})
        return shown

    def _said(self, f: Frame, test: Compare, positive: bool, known: tuple[Fact, ...]) -> list[Fact]:
        """What follows from a comparison."""
        if test.opcode != "icmp" or not isinstance(test.lhs.type, IntType):
            return []
        outer, self.found.needs = self.found.needs, {}
        a, b = self.number(f, test.lhs), self.number(f, test.rhs)
        predicate = test.predicate if positive else OPPOSITE[test.predicate]
        found: list[Poly] = []
        if a is not None and b is not None:
            if predicate[0] == "u":
                self.need(a, 0)
                self.need(b, 0)
            match predicate if predicate in ("eq", "ne") else predicate[1:]:
                case "eq":
                    found = [a - b, b - a]
                case "ne":
                    found = [p - 1 for p in (a - b, b - a) if self._shown(p, known)][:1]
                case "lt":
                    found = [b - a - 1]
                case "le":
                    found = [b - a]
                case "gt":
                    found = [a - b - 1]
                case "ge":
                    found = [a - b]
        needs = self._needs(found)
        self.found.needs = outer
        return [Fact(p, needs) for p in found]

    def _meet(self, ways: list[tuple[State, tuple[Fact, ...]]]) -> State:
        """What is written on all ways, and what on some, where another one was not taken."""
        if len(ways) == 1:
            return ways[0][0]
        found: State = {}
        common = set(ways[0][1]).intersection(*(facts for _, facts in ways[1:])) if ways else set()
        opposite = [[x for x in facts if x not in common and self._is_there(x.poly)] for _, facts in ways]
        for a in dict.fromkeys(a for state, _ in ways for a in state):
            made: Boxes = {}
            for box in dict.fromkeys(box for state, _ in ways for box in state.get(a, {})):
                needs = frozenset(n for state, _ in ways for n in state.get(a, {}).get(box, ()))
                outer, self.found.needs = self.found.needs, {}
                without = [
                    own for (state, facts), own in zip(ways, opposite, strict=True)
                    if box not in state.get(a, {}) and not self._empty(box, facts)
                ]  # fmt: skip
                needs |= frozenset(self.found.needs)
                self.found.needs = outer
                for conditions, more in _not_taken(without):
                    kept = replace(box, conditions=box.conditions | conditions)
                    made = with_box(made, kept, needs | more)
            found[a] = made
        return found

    def _empty(self, box: Box, known: tuple[Fact, ...]) -> bool:
        """Does a box say nothing, wherever its numbers come from?"""
        return not box.strides and self._is_there(*box.polys) and self._shown(box.size * -1, known)

    def _is_there(self, *polys: Poly) -> bool:
        """Have all numbers a value on every way that comes here? Iterations of a loop that was passed by have none."""
        return all(x in self.around for p in polys for m in p.terms for x in m if isinstance(x, Between))

    # --- instructions

    def _block(self, f: Frame, block: Block, state: State) -> State:
        self.steps -= len(block.instructions)
        if self.steps < 0:
            raise Refused("it is too long")
        for i in block.instructions:
            outer, self.found.needs = self.found.needs, {}
            match i:
                case Load():
                    size = Poly.of(self.module.layout.size(i.type))
                    self._read(f, i, i.pointer, size, state)
                case Store():
                    state = self._wrote(f, i, i.pointer, Poly.of(self.module.layout.size(i.value.type)), state)
                case Call():
                    state = self._called(f, i, state)
                case _ if i.opcode in ("atomicrmw", "cmpxchg", "va_arg"):
                    self._read(f, i, i.operands[0], None, state)
                    self._wrote(f, i, i.operands[0], None, state)
            self.found.needs = outer
        return state

    def _wrote(self, f: Frame, by: Instruction, pointer: AnyValue, size: Poly | None, state: State) -> State:
        places = self.pointer(f, pointer)
        if self.checking:
            for place in places:
                self._note(place, size, self.facts[f, by.block])
        if len(places) != 1 or size is None:
            return state
        a, low = places[0].base, places[0].offset
        if a is None or low is None or a not in self.made.filled:
            return state
        needs = self._needs((low, size)) | {(low, _LOWEST, _HIGHEST), (low + size, _LOWEST, _HIGHEST)}
        return {**state, a: with_box(state.get(a, {}), Box(low, size), needs)}

    def _note(self, place: Place, size: Poly | None, facts: tuple[Fact, ...]) -> None:
        """What may be written."""
        a = place.base
        if a is None or a not in self.made.written:
            return
        try:
            if place.offset is None or size is None:
                raise Unbounded("it is written at addresses that are not understood")
            pieces, needs = self.made.written[a]
            pieces[self.sizes.piece(place.offset, place.offset + size, facts)] = None
            needs |= self._needs((place.offset, size))
            needs |= {(place.offset, _LOWEST, _HIGHEST), (place.offset + size, _LOWEST, _HIGHEST)}
        except Unbounded:
            del self.made.written[a]

    def _read(self, f: Frame, by: Instruction, pointer: AnyValue, size: Poly | None, state: State) -> None:
        if not self.checking:
            return
        for place in self.pointer(f, pointer):
            a, low = place.base, place.offset
            if a is None or a not in self.made.filled:
                continue
            if low is None or size is None:
                self.fail(a, "it is read at addresses that are not understood")
            elif (needs := self._covered(state.get(a, {}), low, low + size, self.facts[f, by.block])) is None:
                self.fail(a, "elements may be read that were not written before")
            else:
                self.made.filled[a] |= needs

    def _covered(self, boxes: Boxes, low: Poly, high: Poly, facts: tuple[Fact, ...]) -> frozenset[Need] | None:
        """What must be tested so that all bytes were written; None where that is not known."""
        read = self._needs((low, high)) | {(low, _LOWEST, _HIGHEST), (high, _LOWEST, _HIGHEST)}
        for box, needs in boxes.items():
            if box.strides:
                continue
            proof = Proof(facts)
            inside = (low - box.low, box.low + box.size - high)
            if all(proof.shows(p) for p in (*box.conditions, *inside)):
                return read | needs | {n for fact in proof.used for n in fact.needs}
        return None

    def _called(self, f: Frame, call: Call, state: State) -> State:
        callee = call.called_function
        given = [a for a in call.arguments if isinstance(a.type, PointerType)]
        if callee is not None and not callee.is_declaration and callee not in f.stack:
            return self._entered(f, call, callee, state)
        known = behaviour(call, callee) if callee is not None and callee.is_declaration else None
        if known is not None and (known.kind in ("nothing", "lifetime") or known is STOPS):
            return state
        if known is not None and known.kind in ("copy", "fill"):
            size = self.number(f, call.arguments[2])
            if known.kind == "copy":
                self._read(f, call, call.arguments[1], size, state)
            return self._wrote(f, call, call.arguments[0], size, state)
        for a in given:
            if known is None or known.reads != "none" or known.freed is not None or known.moves is not None:
                self._read(f, call, a, None, state)
            if known is None or known.writes != "none":
                self._wrote(f, call, a, None, state)
        return state

    def _entered(self, f: Frame, call: Call, callee: Function, state: State) -> State:
        if callee.function_type.vararg or len(callee.arguments) != call.arity:
            raise Refused(f"{callee.name} takes variable arguments")
        pairs = list(zip(callee.arguments, call.arguments, strict=True))
        inner = self.frames.get((f, call))
        if inner is None:
            numbers = {a: p for a, v in pairs if (p := self.number(f, v)) is not None}
            pointed = {a: self.pointer(f, v) for a, v in pairs if isinstance(a.type, PointerType)}
            for a, v in pairs:
                if a.attribute("byval"):
                    self._read(f, call, v, None, state)
            inner = Frame(callee, flow(callee), numbers, pointed, (*f.stack, callee))
            self.frames[f, call] = inner
        end = self.run(inner, self.facts[f, call.block], state)
        if call.opcode != "call" or end is None:
            return state
        return {a: {b: n for b, n in boxes.items() if not _inside(b, inner)} for a, boxes in end.items()}


def _inside(box: Box, f: Frame) -> bool:
    """Is it said with numbers of a call that is over?"""
    scopes = (x.scope for p in box.polys for m in p.terms for x in m if isinstance(x, Between))
    return any(isinstance(s, tuple) and s[0] is f for s in scopes)


def _decides(block: Block, out: Block) -> bool:
    """Is the loop left there if and only if one comparison says so, other than by a number that is met by chance?"""
    branch = block.terminator
    if not isinstance(branch, Branch) or branch.condition is None:
        return False
    stay = branch.targets[1] is out
    found = tests(branch.condition, stay)
    return len(found) == 1 and (found[0][0].predicate if found[0][1] else OPPOSITE[found[0][0].predicate]) != "eq"


def _not_taken(without: list[list[Fact]]) -> Iterator[tuple[frozenset[Poly], frozenset[Need]]]:
    """Conditions under which none of these ways was taken: each the opposite of a fact of every way."""
    if not without:
        yield frozenset(), frozenset()
        return
    first, *others = without
    for fact in first[:4]:
        for conditions, needs in _not_taken(others):
            yield conditions | {fact.poly * -1 - 1}, needs | fact.needs
