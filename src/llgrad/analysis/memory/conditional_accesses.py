"""Accesses behind each pointer argument, with the conditions under which they execute.

`accesses(module, root)` reads what `access_ranges` reads, and keeps three things apart for every access:

- `low`, `high`: bytes around the argument, polynomials in integer arguments and loop iterations (an upper bound);
- `only_if`: comparisons known at the entry, all of which hold whenever the access executes;
- `must`: comparisons such that the access executes, in every iteration of the loops around, whenever the function
  returns and they hold there. None: it is not *certain*.

An argument is `unknown` where an address in it is not a polynomial, or where its pointer escapes: it is stored, turned
into an integer, or passed to code that is not read. The other arguments keep their answers. A pointer that is loaded
from memory is nobody's argument: what it leads to is no array that the caller passed for a parameter.

An integer at a known place behind an argument (Fortran's `n`) is known at the entry, like an integer argument, if the
function does not write it: one of `fields`. Whoever uses the rest reads it, and tests that it lies apart from what the
function writes through other arguments.

Everything holds where `needs` holds. `docs/memory-checks.md` has the interface.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import product

from msgspec import Struct, field
from msgspec.structs import replace

from llgrad.analysis.cfg.flow import Flow, Loop, flow
from llgrad.analysis.cfg.loops import OPPOSITE
from llgrad.analysis.memory.access_ranges import Extents, Reader
from llgrad.analysis.memory.call_effects import STOPS, behaviour
from llgrad.analysis.memory.entry_polynomials import (
    Frame,
    Place,
    Places,
    Refused,
    argument_name,
    extended,
    given_number,
    is_readable,
)
from llgrad.analysis.memory.entry_values import Field, is_plain
from llgrad.analysis.memory.polynomial_bounds import Between, Poly, Unbounded, Value, Writer
from llgrad.ir.module import Module
from llgrad.ir.types import IntType, PointerType
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    ConstInt,
    Function,
    Instruction,
    Load,
    Other,
    Select,
    Store,
)

MOST_CORNERS = 4  # iterations of which both ends are tried
MOST_FIELDS = 30
_WIDTHS = (8, 16, 32, 64)  # of the integers that are read in memory


class Condition(Struct, frozen=True):
    """`a predicate b` (an icmp of integers of `bits` bits)."""

    predicate: str
    a: Poly
    b: Poly
    bits: int

    @property
    def pure(self) -> bool:
        """Is it known at the entry?"""
        return self.a.pure and self.b.pure


class Path(Struct, frozen=True):
    """How a block of a frame is reached from the root's entry; `loops`: the iterations around, outermost first."""

    only_if: tuple[Condition, ...] = ()
    must: tuple[Condition, ...] | None = ()
    loops: tuple[Between, ...] = ()

    def then(self, other: Path) -> Path:
        """This path, and another from its end."""
        must = None if self.must is None or other.must is None else (*self.must, *other.must)
        only_if = tuple(dict.fromkeys((*self.only_if, *other.only_if)))
        return Path(only_if, must, (*self.loops, *other.loops))


class Access(Struct, frozen=True):
    """Bytes from `low` to before `high`, as distances from the argument, read or `written` on a path."""

    low: Poly
    high: Poly
    path: Path
    written: bool


class Accesses(Struct):
    """What a function does behind its pointer arguments.

    `known`: every access of each argument, with the first instruction that makes it. `unknown`: arguments of which some
    accesses are missing there, and why. `needs`: see `Extents`. `exact`: iterations that take all values from 0 to
    their bound in every run of their loop. `fields`: integers in memory, with their names where bounds are computed.
    """

    known: dict[Argument, dict[Access, Instruction]] = field(default_factory=dict)
    unknown: dict[Argument, str] = field(default_factory=dict)
    needs: dict[tuple[Poly, int, int], None] = field(default_factory=dict)
    exact: frozenset[Between] = frozenset()
    fields: dict[Field, str] = field(default_factory=dict)

    def certain(self, access: Access) -> bool:
        """Does it execute whenever the function returns and `must` holds, at all ends of the iterations around?"""
        path = access.path
        if path.must is None or not all(x in self.exact for x in path.loops):
            return False
        used = [access.low, access.high, *(p for c in path.must for p in (c.a, c.b))]
        return set(_variables(used)) <= set(path.loops) and len(path.loops) <= MOST_CORNERS


def accesses(module: Module, root: Function, opaque: Iterable[str] = ()) -> Accesses:
    """What `root` accesses. `opaque`: functions whose bodies are not what is run. Never refuses."""
    changing: set[Argument] = set()
    while True:
        reader = _read(module, root, frozenset(opaque), changing)
        found = reader.accesses
        read = {root.arguments[x.base] for x in found.fields}
        wrong = {a for a in read if not reader.stays(a)}
        if not wrong:
            return found
        changing |= wrong


def _read(module: Module, root: Function, opaque: frozenset[str], changing: set[Argument]) -> _Recorder:
    """The accesses, where nothing is known of what lies behind the arguments in `changing`."""
    reader = _Recorder(module, opaque, changing)
    pointers = [a for a in root.arguments if isinstance(a.type, PointerType)]
    places: dict[Argument, Places] = {a: (Place(a, Poly.of(0)),) for a in pointers}
    numbers = {a: Poly.of(given_number(a)) for a in root.arguments if is_readable(a.type)}
    reader.accesses.known = {a: {} for a in pointers}
    try:
        reader.function(Frame(root, flow(root), numbers, places, (root,)))
    except Refused as reason:
        reader.accesses.unknown.update({a: str(reason) for a in pointers})
    reader.accesses.needs = reader.found.needs
    reader.accesses.exact = frozenset(reader.exact)
    return reader


class _Recorder(Reader):
    def __init__(self, module: Module, opaque: frozenset[str], changing: Collection[Argument]) -> None:
        super().__init__(module, Extents(), opaque)
        self.accesses, self.changing = Accesses(), changing
        self.writes_elsewhere = False  # or may: to memory that no argument leads to
        self.exact: dict[Between, None] = {}
        self.before = [Path()]  # how the frame that is read was reached
        self._leaves: dict[Function, bool] = {}
        self._paths: dict[tuple[Frame, Block], Path] = {}

    # --- integers in memory

    def _number(self, f: Frame, v: AnyValue) -> Poly | None:
        return self._in_memory(f, v) if isinstance(v, Load) else super()._number(f, v)

    def _in_memory(self, f: Frame, load: Load) -> Poly | None:
        """What a load reads, if that is the same all the time."""
        try:
            places = self.pointer(f, load.pointer)
        except Refused:
            return None
        if len(places) != 1 or (p := places[0]).base is None or p.offset is None or p.base in self.changing:
            return None
        at, type, known = p.offset.constant, load.type, self.accesses.fields
        if at is None or at < 0 or not is_plain(load) or not isinstance(type, IntType) or type.bits not in _WIDTHS:
            return None
        found = Field(p.base.index, at, type)
        if found not in known:
            if len(known) == MOST_FIELDS:
                return None
            known[found] = f"%f{len(known)}"
            self.fields[known[found]] = Poly.of(extended(known[found], type.bits))
        return self.fields[known[found]]

    def stays(self, a: Argument) -> bool:
        """Is what lies behind an argument the same all the time, if it is apart from what other arguments lead to?"""
        written = a in self.accesses.unknown or any(x.written for x in self.accesses.known[a])
        return not written and (a.attribute("noalias") is not None or not self.writes_elsewhere)

    # --- instructions

    def function(self, f: Frame) -> None:
        super().function(f)
        self.exact.update({x: None for loop, x in f.iterations.items() if self._is_exact(f, loop, x)})

    def instruction(self, f: Frame, i: Instruction) -> None:
        match i:
            case Load() | Store():
                type = i.type if isinstance(i, Load) else i.value.type
                size = Poly.of(self.module.layout.size(type))
                self.touch(f, i, i.pointer, size, isinstance(i, Store))
                if isinstance(i, Store):
                    self._escapes(f, i.value, "its pointer is stored in memory")
            case Call():
                self._called(f, i)
            case Cast(opcode="ptrtoint"):
                self._escapes(f, i.value, "its pointer is turned into an integer")
            case Other():
                for v in i.operands:
                    self._escapes(f, v, f"it goes through a {i.opcode}")

    def touch(self, f: Frame, by: Instruction, pointer: AnyValue, size: Poly | None, written: bool) -> None:
        try:
            places = self.pointer(f, pointer)
        except Refused as reason:
            self.writes_elsewhere |= written
            self._escapes(f, pointer, str(reason))
            return
        path = self.before[-1].then(self.path(f, by.block))
        if len(places) > 1:  # it is one of them
            path = replace(path, must=None)
        for place in places:
            if place.base is None:
                continue
            if place.offset is None or size is None:
                self._unknown(place.base, "an address depends on what the function computes")
                continue
            found = Access(place.offset, place.offset + size, path, written)
            self.accesses.known[place.base].setdefault(found, by)

    def compared(self, f: Frame, test: Compare) -> tuple[Poly, Poly] | None:
        try:
            return super().compared(f, test)
        except Refused:
            return None

    def _called(self, f: Frame, call: Call) -> None:
        try:
            self.call(f, call)
        except Refused as reason:
            self.writes_elsewhere = True
            for v in call.arguments:
                self._escapes(f, v, str(reason))

    def enter(self, f: Frame, call: Call, callee: Function) -> None:
        path = self.before[-1].then(self.path(f, call.block))
        given = [None if isinstance(v.type, PointerType) else self.number(f, v) for v in call.arguments]
        pointed = [self.pointer(f, v) if isinstance(v.type, PointerType) else None for v in call.arguments]
        key = (callee, path, tuple(given), tuple(pointed))
        if key in self.entered:
            return
        self.entered.add(key)
        self.before.append(path)
        known = self.entered
        self.entered = set()  # (the path is part of what was entered)
        try:
            super().enter(f, call, callee)
        finally:
            self.entered = known
            self.before.pop()

    def _unknown(self, base: Argument, why: str) -> None:
        self.accesses.unknown.setdefault(base, why)

    def _escapes(self, f: Frame, v: AnyValue, why: str) -> None:
        """Arguments that a value may be an address in are unknown from here on."""
        for base in self._sources(f, v):
            self._unknown(base, why)

    def _sources(self, f: Frame, v: AnyValue) -> Iterator[Argument]:
        """Arguments that a value may be an address in, if it is one. Loads give no address that did not escape."""
        seen: set[AnyValue] = set()
        waiting = [v]
        while waiting:
            v = waiting.pop()
            if v in seen or isinstance(v, Load | Compare) or isinstance(v.type, IntType):
                continue
            seen.add(v)
            if isinstance(v, Argument):
                yield from (p.base for p in f.pointed.get(v, ()) if p.base is not None)
            elif isinstance(v, Instruction):
                waiting += v.operands

    # --- paths

    def path(self, f: Frame, block: Block) -> Path:
        """How a block is reached from the entry of its function."""
        if (f, block) not in self._paths:
            self._paths[f, block] = self._path(f, block)
        return self._paths[f, block]

    def _path(self, f: Frame, block: Block) -> Path:
        must: list[Condition] | None = [] if not self.leaves(f.source, f.stack) else None
        around: list[Loop] = []
        at, loop = block, f.flow.loop_of(block)
        while loop is not None:
            around.append(loop)
            if must is not None and (loop.preheader is None or not self._reached(f, loop.header, at, must, loop)):
                must = None
            at, loop = loop.preheader or loop.header, loop.parent
        if must is not None and not self._reached(f, f.source.entry, at, must, None):
            must = None
        loops = tuple(self.iteration(f, x) for x in reversed(around))
        return Path(tuple(self._dominating(f, block)), None if must is None else tuple(dict.fromkeys(must)), loops)

    def _dominating(self, f: Frame, block: Block) -> Iterator[Condition]:
        """Conditions known at the entry that hold wherever the block executes."""
        at: Block | None = block
        while at is not None and (above := f.flow.idom[at]) is not None:
            for c in self._edge(f, above, at) or ():
                if c.pure:
                    yield c
            at = above

    def _reached(self, f: Frame, start: Block, block: Block, must: list[Condition], loop: Loop | None) -> bool:
        """Does every way from `start` to the end of the loop (the function) pass `block`, where `must` holds?"""
        while block is not start:
            above = f.flow.idom[block]
            if above is None or not f.flow.dominates(start, above):
                return False
            if (passed := _left(f.flow, above, block)) is not None:
                if _avoids(f.flow, passed.header, block, loop):
                    return False
                block = passed.header
                continue
            if any(f.flow.dominates_edge(above, t, block) for t in above.successors()):
                if len(set(above.successors())) > 1:
                    found = self._edge(f, above, block)
                    if found is None:
                        return False
                    must += found
            elif _avoids(f.flow, above, block, loop):
                return False
            block = above
        return True

    def _edge(self, f: Frame, above: Block, block: Block) -> list[Condition] | None:
        """The conditions that `above` branches on towards `block`; None: others, or other ways lead there."""
        end = above.terminator
        if not isinstance(end, Branch) or end.condition is None or len(set(end.targets)) != 2:
            return None
        for n, target in enumerate(end.targets):
            if f.flow.dominates_edge(above, target, block):
                return conjunction(self, f, end.condition, n == 0)
        return None

    # --- what may keep an access from happening

    def leaves(self, f: Function, stack: tuple[Function, ...] = ()) -> bool:
        """May a call in the function throw, or not come back?"""
        if f not in self._leaves:
            self._leaves[f] = True
            calls = [i for b in f.blocks for i in b.instructions if isinstance(i, Call)]
            self._leaves[f] = any(self._may_leave(c, stack) for c in calls)
        return self._leaves[f]

    def _may_leave(self, call: Call, stack: tuple[Function, ...]) -> bool:
        callee = call.called_function
        if callee is None or call.opcode != "call" or callee in stack:
            return True
        said = {a.name for a in (*call.attributes, *callee.attributes)}
        if "noreturn" in said or {"nounwind", "willreturn"} <= said or callee.name.startswith("llvm."):
            return False  # (what does not return is followed by `unreachable`)
        if not callee.is_declaration:
            return self.leaves(callee, stack)
        known = behaviour(call, callee)
        return known is STOPS or known.kind not in ("nothing", "lifetime", "allocate", "copy", "fill")

    def _is_exact(self, f: Frame, loop: Loop, x: Between) -> bool:
        """Does the iteration take all values from 0 to its bound: one exit, tested once an iteration, by equality of
        what is counted or by an order?"""
        if x.high is None or len(loop.exits) != 1:
            return False
        branch = loop.exits[0][0].terminator
        if not isinstance(branch, Branch) or branch.condition is None:
            return False
        stay = branch.targets[0] in loop
        condition = branch.condition
        while isinstance(condition, Binary) and condition.opcode == "xor":
            condition, stay = condition.lhs, not stay
        if not isinstance(condition, Compare):
            return False
        return (condition.predicate if stay else OPPOSITE[condition.predicate]) != "eq"


def conjunction(reader: Reader, f: Frame, condition: AnyValue, positive: bool) -> list[Condition] | None:
    """Comparisons that hold all together if and only if the condition is `positive`."""
    match condition:
        case Compare(opcode="icmp"):
            found = _comparison(reader, f, condition, positive)
            return None if found is None else [found]
        case Binary("xor", lhs, ConstInt(value=1)):
            return conjunction(reader, f, lhs, not positive)
        case Binary("and", lhs, rhs) if positive:
            return _both(reader, f, lhs, rhs, True)
        case Binary("or", lhs, rhs) if not positive:
            return _both(reader, f, lhs, rhs, False)
        case Select(first, second, ConstInt(value=0)) if positive:
            return _both(reader, f, first, second, True)
        case Select(first, ConstInt(value=1), second) if not positive:
            return _both(reader, f, first, second, False)
    return None


def _both(reader: Reader, f: Frame, one: AnyValue, other: AnyValue, positive: bool) -> list[Condition] | None:
    a, b = (conjunction(reader, f, x, positive) for x in (one, other))
    return None if a is None or b is None else [*a, *b]


def _comparison(reader: Reader, f: Frame, test: Compare, positive: bool) -> Condition | None:
    if not isinstance(test.lhs.type, IntType) or test.lhs.type.bits > 64:
        return None
    a, b = reader.number(f, test.lhs), reader.number(f, test.rhs)
    predicate = test.predicate if positive else OPPOSITE[test.predicate]
    return None if a is None or b is None else Condition(predicate, a, b, test.lhs.type.bits)


def _left(flow: Flow, above: Block, block: Block) -> Loop | None:
    """The outermost loop around `above` that `block` is not in."""
    found, loop = None, flow.loop_of(above)
    while loop is not None and block not in loop:
        found, loop = loop, loop.parent
    return found


def _avoids(flow: Flow, start: Block, block: Block, loop: Loop | None) -> bool:
    """Is there a way from `start` that ends, or goes round or out of the loop, and does not pass `block`?"""
    seen = {start}
    waiting = [start]
    while waiting:
        at = waiting.pop()
        successors = [b for b in at.successors() if b in flow]
        if not successors:
            return True
        for b in successors:
            if b is block or b in seen:
                continue
            if loop is not None and (b not in loop or b is loop.header):
                return True
            seen.add(b)
            waiting.append(b)
    return False


def _variables(polys: Iterable[Poly]) -> Iterator[Between]:
    for p in polys:
        for m in p.terms:
            yield from (x for x in m if isinstance(x, Between))


# --- ends of what certainly happens ----------------------------------------------------------------------------------


Corner = dict[Between, Poly]


def corners(w: Writer, loops: tuple[Between, ...]) -> Iterator[Corner]:
    """Iterations that take place, as numbers known at the entry: all first and last ones of the loops."""
    for chosen in product((True, False), repeat=len(loops)):
        found: Corner = {}
        waiting = list(zip(loops, chosen, strict=True))
        while waiting:
            ready = [(x, last) for x, last in waiting if x.high is not None and put(x.high, found).pure]
            if not ready:
                raise Unbounded("the counts of loops depend on each other")
            for x, last in ready:
                assert x.high is not None
                found[x] = w.fixed(w.larger(w.value(put(x.high, found)), 0)) if last else Poly.of(0)
            waiting = [pair for pair in waiting if pair not in ready]
        yield found


def put(p: Poly, values: Corner) -> Poly:
    """The polynomial with numbers in the place of iterations."""
    total = Poly.of(0)
    for m, c in p.terms.items():
        term = Poly.of(c)
        for x in m:
            term = term * (values[x] if isinstance(x, Between) and x in values else Poly.of(x))
        total = total + term
    return total


def held(w: Writer, conditions: Iterable[Condition], values: Corner) -> str:
    """Write whether all conditions hold; the name of an i1, or `true`, `false`."""
    total = "true"
    for c in conditions:
        one = _compared(w, c, w.value(put(c.a, values)), w.value(put(c.b, values)))
        if one == "false" or total == "true":
            total = one
        elif one != "true" and total != "false":
            total = w.emit(f"and i1 {total}, {one}")
    return total


_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _compared(w: Writer, c: Condition, a: Value, b: Value) -> str:
    if c.predicate[0] == "u":
        mask = (1 << c.bits) - 1
        if isinstance(a, int) and isinstance(b, int):
            a, b = a & mask, b & mask
        elif c.bits < 64:
            a, b = (v & mask if isinstance(v, int) else w.emit(f"and i64 {v}, {mask}") for v in (a, b))
    if isinstance(a, int) and isinstance(b, int):
        return str(_ORDERS[c.predicate[-2:]](a, b)).lower()
    return w.emit(f"icmp {c.predicate} i64 {a}, {b}")


def happening(w: Writer, access: Access) -> Iterator[tuple[str, Value, Value]]:
    """Write where an access that is certain takes place, at the ends of the iterations around: a condition (an i1), the
    first byte and the one behind the last."""
    for corner in corners(w, access.path.loops):
        happens = held(w, access.path.must or (), corner)
        if happens != "false":
            yield happens, w.value(put(access.low, corner)), w.value(put(access.high, corner))


__all__ = [
    "Access", "Accesses", "Condition", "Path", "accesses", "argument_name", "conjunction", "corners", "happening",
    "held", "put",
]  # fmt: skip
