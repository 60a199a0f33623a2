"""Which bytes around each pointer argument a function may touch, in terms of what is known when it is entered.

`extents(function)` reads the function as it is, and what it calls, once for each call. An address is an argument and a
polynomial (`polynomial_bounds`) in the integer arguments and in the iterations of the loops around. What is found holds
whatever the memory holds and whether or not arguments overlap: numbers that come from memory have no bounds. More bytes
than are touched may be named, never fewer.

Integers are read as signed numbers. Where arithmetic may wrap (no `nsw`), the polynomial holds as long as the result
is within its type: one of `Extents.needs`, which whoever uses the extents tests, too. Of 64-bit numbers that is
tested when bounds are computed. Refused is what accesses memory of unknown origin: through pointers in memory, in
variables of the program, in functions that are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct, field

from llgrad.analysis.cfg.flow import Flow, Loop, flow
from llgrad.analysis.cfg.loops import OPPOSITE, SWAPPED
from llgrad.analysis.memory.call_effects import STOPS, behaviour
from llgrad.analysis.memory.entry_values import Ahead, Field
from llgrad.analysis.memory.polynomial_bounds import (
    Between,
    Known,
    Poly,
    Unbounded,
    Value,
    Writer,
    extreme,
    hull,
    mapped,
)
from llgrad.analysis.objects import gep_base
from llgrad.ir.module import Module
from llgrad.ir.types import PTR, ArrayType, DataLayout, IntType, PointerType, StructType, Type, VectorType
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    Constant,
    ConstExpr,
    ConstInt,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    Load,
    Other,
    Phi,
    Select,
    Store,
)

MOST_INSTRUCTIONS = 30_000  # of the function and what it calls, each time it is called
MOST_PLACES = 8
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_WIDE = 31  # masks of so many bits cut off what is not there


class Refused(Exception):
    """Nothing can be said of the function's accesses; the message says why."""


class Place(Struct, frozen=True):
    """`offset` bytes behind an argument of the function; None: memory of its own, or that nobody writes."""

    base: Argument | None
    offset: Poly | None  # None: unknown


OWN = Place(None, None)
Places = tuple[Place, ...]


class Touched(Struct):
    """What is done to the memory of one argument: bytes from `low` to before `high`, one entry an access.

    `looped`: in a loop of the function itself, or in what is called there.
    """

    ranges: dict[tuple[Poly, Poly], None] = field(default_factory=dict)
    written: bool = False
    looped: bool = False
    writes: dict[tuple[Poly, Poly], None] = field(default_factory=dict)  # of `ranges`

    def write(self, w: Writer) -> tuple[Value, Value]:
        """Write the first byte and the one behind the last, as distances from the argument."""
        lows, highs = self.ends(w)
        return w.least_of(lows), w.most_of(highs)

    def ends(self, w: Writer) -> tuple[list[Value], list[Value]]:
        """Write the first bytes of all ranges, and those behind their last, each number once."""
        lows, highs = self._grouped()
        return list(dict.fromkeys(map(w.least, lows))), list(dict.fromkeys(map(w.most, highs)))

    def _grouped(self) -> tuple[list[Poly], list[Poly]]:
        """Where ranges begin and end; of what differs by constants, the outermost."""
        lows: dict[Poly, int] = {}
        highs: dict[Poly, int] = {}
        for low, high in self.ranges:
            a, b = low.terms.get((), 0), high.terms.get((), 0)
            lows[low - a] = min(a, lows.get(low - a, a))
            highs[high - b] = max(b, highs.get(high - b, b))
        return [p + c for p, c in lows.items()], [p + c for p, c in highs.items()]


class Extents(Struct):
    """`touched`: by argument; an argument whose memory is not touched is not in it.

    `needs`: polynomials with what they must be at least and at most, so that the rest holds.
    """

    touched: dict[Argument, Touched] = field(default_factory=dict)
    needs: dict[tuple[Poly, int, int], None] = field(default_factory=dict)


def extents(module: Module, root: Function, opaque: Iterable[str] = (), ahead: Ahead | None = None) -> Extents:
    """What `root` touches. `opaque`: functions whose bodies are not what is run. Raises Refused.

    `ahead`: numbers may come from memory that the function does not write. They are noted there, and whoever uses the
    extents reads them at the entry.
    """
    found = Extents()
    reader = Reader(module, found, frozenset(opaque))
    reader.ahead = ahead
    numbers = {a: Poly.of(given_number(a)) for a in root.arguments if is_readable(a.type)}
    pointers = [a for a in root.arguments if isinstance(a.type, PointerType)]
    places: dict[Argument, Places] = {a: (Place(a, Poly.of(0)),) for a in pointers}
    for a in root.arguments:
        if any(a.attribute(name) for name in ("byval", "sret", "inalloca", "preallocated", "swifterror")):
            raise Refused("it takes a struct through a pointer of the caller's")
        if isinstance(a.type, (VectorType, StructType, ArrayType)):
            raise Refused("it takes vectors or structs in registers")
    reader.function(Frame(root, flow(root), numbers, places, (root,)))
    if ahead is not None:
        _unwritten(root, found, ahead, module.layout)
    return found


def _unwritten(root: Function, found: Extents, ahead: Ahead, layout: DataLayout) -> None:
    """Refuse what is read ahead and written through the argument that leads to it; name the bytes of pointers."""
    for p in ahead.pointers.values():
        low = Poly.of(p.field.offset)
        found.touched.setdefault(root.arguments[p.field.base], Touched()).ranges[low, low + layout.size(PTR)] = None
    fields = [*(p.field for p in ahead.pointers.values()), *ahead.fields]
    for at in fields:
        end = at.offset + layout.size(at.type)
        for low, high in found.touched[root.arguments[at.base]].writes:
            a, b = low.constant, high.constant
            if a is None or b is None or a < end and at.offset < b:
                raise Refused("it writes what it reads pointers or sizes from")
    if any(found.touched[root.arguments[scan.first.base]].writes for scan in ahead.scans):
        raise Refused("it writes where it reads indices")


def argument_name(a: Argument) -> str:
    """What an argument of the root is called where the bounds are computed."""
    return f"%p{a.index}"


def given_number(a: Argument) -> Known:
    assert isinstance(a.type, IntType)
    return extended(argument_name(a), a.type.bits)


def _written(name: str) -> Known:
    """A number that has this name where the bounds are computed."""
    return Known(lambda _: name)


def extended(name: str, bits: int) -> Known:
    return Known(lambda w: name if bits == 64 else w.emit(f"sext i{bits} {name} to i64"))


def is_readable(t: Type) -> bool:
    return isinstance(t, IntType) and 8 <= t.bits <= 64


class Frame(Struct, eq=False):
    """A call of a function: what it is given, and what was found in it."""

    source: Function
    flow: Flow
    given: dict[Argument, Poly]
    pointed: dict[Argument, Places]
    stack: tuple[Function, ...]
    looped: bool = False  # called in a loop of the root
    numbers: dict[AnyValue, Poly | None] = field(default_factory=dict)
    places: dict[AnyValue, Places | None] = field(default_factory=dict)  # None: in the making
    iterations: dict[Loop, Between] = field(default_factory=dict)

    def scope(self, v: Instruction) -> tuple[Frame, Loop | None]:
        """Where a number that `v` makes changes."""
        return self, self.flow.loop_of(v.block)

    def in_loop(self, i: Instruction) -> bool:
        """Is it run in a loop of the root?"""
        return self.looped or (len(self.stack) == 1 and self.flow.loop_of(i.block) is not None)


class Reader:
    def __init__(self, module: Module, found: Extents, opaque: frozenset[str]) -> None:
        self.module, self.found, self.opaque, self.budget = module, found, opaque, MOST_INSTRUCTIONS
        self.entered: set[object] = set()
        self.ahead: Ahead | None = None
        self.fields: dict[str, Poly] = {}  # what was read ahead, by name

    # --- instructions

    def function(self, f: Frame) -> None:
        if f.flow.irreducible:
            raise Refused(f"{f.source.name} has a cycle with several entries")
        for block in f.flow.order:
            self.budget -= len(block.instructions)
            if self.budget < 0:
                raise Refused("it is too long")
            for i in block.instructions:
                self.instruction(f, i)
        for loop, made in _growing(f.iterations):
            any(self.count(f, loop, block, out, made) for block, out in loop.exits)

    def instruction(self, f: Frame, i: Instruction) -> None:
        match i:
            case Load() | Store():
                if {"volatile", "atomic"} & i.flags or i.ordering:
                    raise Refused("it has volatile or atomic accesses")
                type = i.type if isinstance(i, Load) else i.value.type
                size = Poly.of(self.module.layout.size(type))
                self.touch(f, i, i.pointer, size, isinstance(i, Store))
            case Call():
                self.call(f, i)
            case Other() if i.opcode not in ("resume", "landingpad"):
                raise Refused(f"it has a {i.opcode}")

    def touch(self, f: Frame, by: Instruction, pointer: AnyValue, size: Poly | None, written: bool) -> None:
        for place in self.pointer(f, pointer):
            if place.base is None:
                continue
            if place.offset is None or size is None:
                raise Refused(f"addresses in argument {place.base.index + 1} are not known at the entry")
            at = self.found.touched.setdefault(place.base, Touched())
            at.ranges[place.offset, place.offset + size] = None
            if written:
                at.written = True
                at.writes[place.offset, place.offset + size] = None
            at.looped |= f.in_loop(by)

    def call(self, f: Frame, call: Call) -> None:
        callee = call.called_function
        if callee is None:
            raise Refused("it calls through a pointer")
        if callee.name in self.opaque:
            raise Refused(f"{callee.name} has a rule of the user's")
        known = behaviour(call, callee) if callee.is_declaration else None
        if known is None:
            self.enter(f, call, callee)
            return
        if known.kind in ("nothing", "lifetime") or known is STOPS:
            return
        if callee.name.startswith("llgrad.") or ".pattern" in callee.name:
            raise Refused(f"it calls {callee.name}")
        if known.kind in ("copy", "fill"):
            size = self.number(f, call.arguments[2])
            self.touch(f, call, call.arguments[0], size, True)
            if known.kind == "copy":
                self.touch(f, call, call.arguments[1], size, False)
            return
        if "any" in (known.reads, known.writes):
            raise Refused(f"it calls {callee.name}, which may access anything")
        given = (known.freed, known.moves, known.place)
        if "args" in (known.reads, known.writes) or any(n is not None for n in given):
            for a in call.arguments:
                many = isinstance(a.type, VectorType) and isinstance(a.type.element, PointerType)
                if many or (isinstance(a.type, PointerType) and self.pointer(f, a) != (OWN,)):
                    raise Refused(f"it calls {callee.name} with a pointer of the caller's")

    def enter(self, f: Frame, call: Call, callee: Function) -> None:
        if callee in f.stack:
            raise Refused(f"{callee.name} calls itself")
        if call.opcode != "call" or callee.function_type.vararg:
            raise Refused(f"{callee.name} may throw, or takes variable arguments")
        pairs = list(zip(callee.arguments, call.arguments, strict=True))
        if any(a.attribute("byval") or a.attribute("sret") and self.pointer(f, v) != (OWN,) for a, v in pairs):
            raise Refused(f"{callee.name} takes a struct through a pointer")
        given = {a: p for a, v in pairs if (p := self.number(f, v)) is not None}
        pointed = {a: self.pointer(f, v) for a, v in pairs if isinstance(a.type, PointerType)}
        key = (callee, f.in_loop(call), frozenset(given.items()), frozenset(pointed.items()))
        if key not in self.entered:  # the same again touches the same
            self.entered.add(key)
            self.function(Frame(callee, flow(callee), given, pointed, (*f.stack, callee), f.in_loop(call)))

    # --- pointers

    def pointer(self, f: Frame, v: AnyValue) -> Places:
        """The places that a pointer may have; Refused where that is not known."""
        if v not in f.places:
            f.places[v] = None
            found = f.places[v] = self._pointer(f, v)
            if len(found) > MOST_PLACES:
                raise Refused("a pointer has too many places")
        known = f.places[v]
        if known is None:
            raise Refused("a pointer depends on itself")
        return known

    def _pointer(self, f: Frame, v: AnyValue) -> Places:
        if not isinstance(v.type, PointerType):
            raise Refused("it has vectors of pointers")
        match v:
            case Argument():
                return f.pointed[v]
            case GetElementPtr():
                at = self.offset(f, v)
                return tuple(self.moved(p, at) for p in self.pointer(f, v.pointer))
            case Select():
                return self.union(f, (v.if_true, v.if_false))
            case Phi():
                return self.phi(f, v)
            case ConstExpr(operands=operands) if v.opcode in ("getelementptr", "addrspacecast", "bitcast"):
                return self.pointer(f, operands[0])
            case GlobalVariable() if not v.constant:
                raise Refused(f"it uses the variable {v.name}")
        if not _own(v):
            raise Refused("it follows pointers in memory, or from functions that it calls")
        return (OWN,)

    def moved(self, p: Place, at: Poly | None) -> Place:
        if p.base is None:
            return p
        return Place(p.base, None if at is None or p.offset is None else p.offset + at)

    def union(self, f: Frame, values: Iterable[AnyValue]) -> Places:
        return tuple(dict.fromkeys(p for v in values for p in self.pointer(f, v)))

    def phi(self, f: Frame, phi: Phi) -> Places:
        loop = f.flow.loop_of(phi.block)
        if loop is None or loop.header is not phi.block:
            return self.union(f, (v for v, b in phi.incoming() if b in f.flow))
        web, outside, stepped = self.web(f, phi, loop)
        starts = self.union(f, outside)
        if any(gep_base(v) not in web for v in stepped):
            raise Refused("it follows pointers in a way that is not understood")
        if not stepped or all(p.base is None for p in starts):
            return starts
        times = self.iteration(f, loop)
        advance = self.advance(f, loop, times, [self.chain(f, phi, v) for v in stepped]) if len(web) == 1 else None
        return tuple(self.moved(p, advance) for p in starts)

    def web(
        self, f: Frame, phi: Phi, loop: Loop
    ) -> tuple[list[Phi | Select], dict[AnyValue, None], dict[AnyValue, None]]:
        """What takes turns with the header's phi within the loop; what comes from elsewhere; what was moved."""
        web: list[Phi | Select] = [phi]
        outside: dict[AnyValue, None] = {}
        stepped: dict[AnyValue, None] = {}
        for p in web:
            for v in _merged(p, f.flow):
                if isinstance(v, (Phi, Select)) and v in loop:
                    web += [v] if v not in web else []
                elif isinstance(v, GetElementPtr) and v in loop:
                    stepped[v] = None
                else:
                    outside[v] = None
        return web, outside, stepped

    def chain(self, f: Frame, phi: Phi, v: AnyValue) -> Poly | None:
        """How far `v` is from the header's phi."""
        total = Poly.of(0)
        while v is not phi:
            if not isinstance(v, GetElementPtr):
                return None
            at = self.offset(f, v)
            if at is None:
                return None
            total, v = total + at, v.pointer
        return total

    def offset(self, f: Frame, gep: GetElementPtr) -> Poly | None:
        """The bytes that the indices add."""
        at: Type = ArrayType(gep.source_type, 0)
        total = Poly.of(0)
        for index in gep.indices:
            match at:
                case StructType(fields) if fields is not None and isinstance(index, ConstInt):
                    total += self.module.layout.offsets(at)[index.value]
                    at = fields[index.value]
                    continue
                case ArrayType(element):
                    at = element
                case _:
                    return None
            n = self.number(f, index)
            if n is None:
                return None
            total += n * self.module.layout.alloc_size(at)
        return total

    # --- numbers

    def number(self, f: Frame, v: AnyValue) -> Poly | None:
        if isinstance(v, ConstInt):
            return Poly.of(v.signed)
        if v not in f.numbers:
            f.numbers[v] = None
            f.numbers[v] = self._number(f, v)
        return f.numbers[v]

    def need(self, p: Poly, low: int = _LOWEST, high: int = _HIGHEST) -> Poly:
        if (c := p.constant) is None or not low <= c <= high:
            self.found.needs[p, low, high] = None
        return p

    def fits(self, p: Poly | None, t: Type) -> Poly | None:
        """A result that may have wrapped."""
        if p is None or not isinstance(t, IntType):
            return None
        return p if t.bits == 64 else self.need(p, -(1 << t.bits - 1), (1 << t.bits - 1) - 1)

    def _number(self, f: Frame, v: AnyValue) -> Poly | None:
        if not isinstance(v.type, IntType) or v.type.bits > 64:
            return None
        match v:
            case Argument():
                return f.given.get(v)
            case Binary():
                return self.binary(f, v)
            case Cast():
                return self.cast(f, v)
            case Phi():
                loop = f.flow.loop_of(v.block)
                if loop is not None and loop.header is v.block:
                    return self.induction(f, v, loop) or self.unchanged(f, v)
                return self.one_of(f, v, [self.number(f, x) for x, b in v.incoming() if b in f.flow])
            case Select():
                return self.one_of(f, v, [self.number(f, x) for x in (v.if_true, v.if_false)])
            case Load() if self.ahead is not None and len(f.stack) == 1:
                return self.from_memory(f, v, self.ahead)
            case Call() if (callee := v.called_function) is not None:
                return self.intrinsic(f, v, callee.name.split(".")[1:2])
        return None

    def from_memory(self, f: Frame, load: Load, ahead: Ahead) -> Poly | None:
        """A field, or an integer of an array that a nest reads, as it was at the entry."""
        layout = self.module.layout
        places = self.pointer(f, load.pointer)
        if len(places) != 1 or (p := places[0]).base is None or p.offset is None or not is_readable(load.type):
            return None
        assert isinstance(load.type, IntType)
        if p.offset.constant is not None:
            name = ahead.number(f.flow, load, layout)
            if name is not None and name not in self.fields:
                self.fields[name] = Poly.of(extended(name, load.type.bits))
            return None if name is None else self.fields[name]
        loops = {x: loop for loop, x in f.iterations.items()}
        strides = list[tuple[Loop, int]]()
        for m, c in p.offset.terms.items():
            if len(m) == 1 and isinstance(x := m[0], Between) and x in loops:
                strides.append((loops[x], c))
            elif m:
                return None
        first = Field(p.base.index, p.offset.terms.get((), 0), load.type)
        name = ahead.bounds(f.flow, load, first, strides, layout)
        if name is None:
            return None
        low, high = (Poly.of(_written(f"{name}.{end}")) for end in ("low", "high"))
        return Poly.of(Between(low, high, True, f.scope(load)))

    def one_of(self, f: Frame, v: Instruction, parts: list[Poly | None]) -> Poly | None:
        known = [p for p in parts if p is not None]
        return hull(known, f.scope(v)) if len(known) == len(parts) <= MOST_PLACES else None

    def intrinsic(self, f: Frame, call: Call, name: list[str]) -> Poly | None:
        if name and name[0] in ("smin", "smax", "umin", "umax"):
            a, b = (self.number(f, x) for x in call.arguments)
            if a is None or b is None:
                return None
            if name[0][0] == "u":
                self.need(a, 0)
                self.need(b, 0)
            up = name[0][1:] == "max"
            if a.pure and b.pure:
                return extreme((a, b), up, True)
            low, high = extreme((a, b), up, False), extreme((a, b), up, True)
            return Poly.of(Between(low, high, True, f.scope(call)))
        return None

    def binary(self, f: Frame, v: Binary) -> Poly | None:
        if v.opcode == "and" and isinstance(v.rhs, ConstInt):
            return self.masked(f, v, v.rhs)
        a, b = self.number(f, v.lhs), self.number(f, v.rhs)
        if v.opcode in ("srem", "urem") and b is not None:
            return self.remainder(f, v, a, self.need(b, 1))
        return None if a is None or b is None else self.computed(f, v, a, b)

    def remainder(self, f: Frame, v: Binary, a: Poly | None, b: Poly) -> Poly:
        """Of a division by at least 1: on the dividend's side of zero, no farther than that, and nearer than `b`."""
        if v.opcode == "urem":
            return Poly.of(Between(Poly.of(0), b - 1, True, f.scope(v)))

        def low(w: Writer) -> Value:
            least = w.least(Poly.of(1) - b)
            with suppress(Unbounded):
                least = w.larger(least, w.smaller(w.least(a), 0)) if a is not None else least
            return least

        return Poly.of(Between(Poly.of(Known(low)), b - 1, True, f.scope(v)))

    def computed(self, f: Frame, v: Binary, a: Poly, b: Poly) -> Poly | None:
        by = v.rhs.signed if isinstance(v.rhs, ConstInt) else None
        match v.opcode:
            case "add":
                found = a + b
            case "sub":
                found = a - b
            case "or" if "disjoint" in v.flags:
                return a + b
            case "mul":
                found = a * b
            case "shl" if isinstance(v.type, IntType) and by is not None and 0 <= by < v.type.bits - 1:
                found = a * (1 << by)
            case "xor" if by == -1:
                return Poly.of(-1) - a
            case "xor" | "or" if by is not None and by >= 0:  # changes that many at most
                return self.need(a) + self.within(f, v, -by if v.opcode == "xor" else 0, by)
            case "sdiv" | "udiv" if by is not None and by > 0:
                return self.quotient(f, v, a, by)
            case "ashr" | "lshr" if by is not None and 0 <= by < 63:
                return self.shifted(f, v, a, by)
            case _:
                return None
        return found if "nsw" in v.flags else self.fits(found, v.type)

    def masked(self, f: Frame, v: Binary, mask: ConstInt) -> Poly | None:
        n = mask.signed
        if n >= 0 and n & (n + 1) == 0 and n.bit_length() >= _WIDE:
            a = self.number(f, v.lhs)
            return None if a is None else self.need(a, 0, n)
        if n >= 0:
            return self.within(f, v, 0, n)
        if -n & (-n - 1) == 0:
            a = self.number(f, v.lhs)
            return None if a is None else self.need(a) - self.within(f, v, 0, -n - 1)
        return None

    def quotient(self, f: Frame, v: Binary, a: Poly, n: int) -> Poly:
        self.need(a, 0 if v.opcode == "udiv" else _LOWEST)
        whole = a.divided(n)
        return mapped(a, lambda w, x: w.quotient(x, n), f.scope(v)) if whole is None else whole

    def shifted(self, f: Frame, v: Binary, a: Poly, bits: int) -> Poly:
        self.need(a, 0 if v.opcode == "lshr" else _LOWEST)
        whole = a.divided(1 << bits)
        return mapped(a, lambda w, x: w.shifted(x, bits), f.scope(v)) if whole is None else whole

    def within(self, f: Frame, v: Instruction, low: int, high: int) -> Poly:
        return Poly.of(Between(Poly.of(low), Poly.of(high), True, f.scope(v)))

    def cast(self, f: Frame, v: Cast) -> Poly | None:
        inner = v.value.type
        if not isinstance(inner, IntType) or not isinstance(v.type, IntType):
            return None
        a = self.number(f, v.value) if inner.bits >= 8 else None
        half = 1 << inner.bits - 1
        match v.opcode:
            case "zext" if a is None and inner.bits <= 16:
                return self.within(f, v, 0, 2 * half - 1)
            case "sext" if a is None and inner.bits <= 16:
                return self.within(f, v, -half, half - 1)
            case "zext":
                return a if a is None or "nneg" in v.flags else self.need(a, 0)
            case "sext":
                return a
            case "trunc" if a is not None and v.type.bits >= 8:
                return a if "nsw" in v.flags else self.fits(a, v.type)
        return None

    # --- loops

    def iteration(self, f: Frame, loop: Loop) -> Between:
        """How many iterations of the loop are over: from 0 to the times it goes round, which are counted at the end."""
        if loop not in f.iterations:
            f.iterations[loop] = Between(Poly.of(0), None, scope=(f, loop))
        return f.iterations[loop]

    def induction(self, f: Frame, phi: Phi, loop: Loop) -> Poly | None:
        pairs = [(v, b) for v, b in phi.incoming() if b in f.flow]
        starts = list(dict.fromkeys(v for v, b in pairs if b not in loop))
        nexts = list(dict.fromkeys(v for v, b in pairs if b in loop))
        if len(starts) != 1 or len(nexts) != 1 or (start := self.number(f, starts[0])) is None:
            return None
        total, exact, at = Poly.of(0), True, nexts[0]
        while at is not phi:
            step, more, flags = self.summand(f, loop, at)
            if step is None or more is None:
                return None
            total, exact, at = total + step, exact and "nsw" in flags, more
        if not self.steady(f, loop, total):
            return None
        found = start + total * Poly.of(self.iteration(f, loop))
        return found if exact else self.fits(found, phi.type)

    def unchanged(self, f: Frame, phi: Phi) -> Poly | None:
        """A field that each iteration reads again, for the next one (LLVM's load PRE makes such phis)."""
        found = {self.number(f, v) for v, b in phi.incoming() if b in f.flow}
        only = found.pop() if len(found) == 1 else None
        return only if only is not None and only.pure else None

    def summand(self, f: Frame, loop: Loop, v: AnyValue) -> tuple[Poly | None, AnyValue | None, frozenset[str]]:
        """What is added to what: an increment taken apart."""
        match v:
            case Binary("add", lhs, rhs) if rhs not in loop:
                return self.number(f, rhs), lhs, v.flags
            case Binary("add", lhs, rhs) if lhs not in loop:
                return self.number(f, lhs), rhs, v.flags
            case Binary("sub", lhs, rhs) if rhs not in loop:
                n = self.number(f, rhs)
                return None if n is None else n * -1, lhs, v.flags
        return None, None, frozenset()

    def steady(self, f: Frame, loop: Loop, p: Poly) -> bool:
        """Is all that the polynomial is about the same while the loop runs?"""
        return all(_outside(x.scope, f, loop) for m in p.terms for x in m if isinstance(x, Between))

    def advance(self, f: Frame, loop: Loop, times: Between, steps: list[Poly | None]) -> Poly | None:
        """How far a pointer has gone that is moved by one of `steps` in each iteration."""
        known = [s for s in steps if s is not None]
        if len(known) < len(steps):
            return None
        if len(set(known)) == 1 and self.steady(f, loop, known[0]):
            return known[0] * Poly.of(times)

        def far(w: Writer, up: bool) -> Value:
            each: Value = 0
            for s in known:
                each = w.larger(each, w.most(s)) if up else w.smaller(each, w.least(s))
            return w.multiply(w.larger(w.most(Poly.of(times)), 0), each)

        low, high = Known(lambda w: far(w, False)), Known(lambda w: far(w, True))
        return Poly.of(Between(Poly.of(low), Poly.of(high), True, (f, loop)))

    def count(self, f: Frame, loop: Loop, block: Block, out: Block, made: Between) -> bool:
        """Find the most times that the loop goes round, from one of its exits."""
        branch = block.terminator
        each_time = f.flow.loop_of(block) is loop and all(f.flow.dominates(block, x) for x in loop.latches)
        if not each_time or not isinstance(branch, Branch) or len(branch.targets) != 2 or branch.condition is None:
            return False
        stay = branch.targets[1] is out
        if branch.targets[0] is branch.targets[1]:
            return False
        return any(self.bounded(f, loop, c, positive, made) for c, positive in _tests(branch.condition, stay))

    def bounded(self, f: Frame, loop: Loop, test: Compare, positive: bool, made: Between) -> bool:
        if test.opcode != "icmp" or not isinstance(test.lhs.type, (IntType, PointerType)):
            return False
        predicate = test.predicate if positive else OPPOSITE[test.predicate]
        found = self.compared(f, test)
        if found is None:
            return False
        (a, s), (b, t) = (p.split(made) for p in found)
        if s.constant == 0:
            (a, s), (b, t), predicate = (b, t), (a, s), SWAPPED[predicate]
        step = s.constant
        if t.constant != 0 or not step or not (self.steady(f, loop, a) and self.steady(f, loop, b)):
            return False
        return self.ends(f, loop, predicate, a, step, b, test, made)

    def compared(self, f: Frame, test: Compare) -> tuple[Poly, Poly] | None:
        if isinstance(test.lhs.type, IntType):
            a, b = self.number(f, test.lhs), self.number(f, test.rhs)
            return None if a is None or b is None else (a, b)
        ends = [self.pointer(f, x) for x in (test.lhs, test.rhs)]
        if any(len(p) != 1 or p[0].base is None or p[0].offset is None for p in ends):
            return None
        (p,), (q,) = ends
        return (p.offset, q.offset) if p.base is q.base and p.offset and q.offset else None

    def ends(
        self, f: Frame, loop: Loop, predicate: str, a: Poly, step: int, b: Poly, test: Compare, made: Between
    ) -> bool:
        """The loop stays while a + i * step `predicate` b."""
        size, up = abs(step), step > 0
        distance = b - a if up else a - b
        alone = len(loop.exits) == 1
        if predicate == "eq":
            made.high, made.met = Poly.of(1), True
            return True
        self.need(a)
        self.need(b)
        if predicate == "ne":
            times = distance.divided(size)
            if times is None:
                return False
            wide = not isinstance(test.lhs.type, IntType) or test.lhs.type.bits == 64
            if not (alone and wide):
                self.need(times, 0)
            made.high, made.met = times, True
            return True
        if (predicate[1] == "l") != up:
            return False
        tested = a + Poly.of(made) * step
        self.need(tested, 0 if predicate[0] == "u" else _LOWEST)
        if predicate[0] == "u":
            self.need(b, 0 if predicate.endswith("t") else 1)
        distance += size if predicate.endswith("e") else size - 1
        whole = distance.divided(size)
        made.high = mapped(distance, lambda w, x: w.quotient(x, size), made.scope) if whole is None else whole
        return True


def _tests(condition: AnyValue, stay: bool) -> list[tuple[Compare, bool]]:
    """Comparisons of which each must hold (or not) for the branch to go where it stays (`stay`: if it is true)."""
    match condition:
        case Compare():
            return [(condition, stay)]
        case Binary("xor", lhs, ConstInt(value=1)):
            return _tests(lhs, not stay)
        case Binary("and", lhs, rhs) if stay:
            return [*_tests(lhs, True), *_tests(rhs, True)]
        case Binary("or", lhs, rhs) if not stay:
            return [*_tests(lhs, False), *_tests(rhs, False)]
        case Select(first, second, ConstInt(value=0)) if stay:
            return [*_tests(first, True), *_tests(second, True)]
        case Select(first, ConstInt(value=1), second) if not stay:
            return [*_tests(first, False), *_tests(second, False)]
    return []


def _growing(found: dict[Loop, Between]) -> Iterator[tuple[Loop, Between]]:
    """The entries, those too that are added meanwhile."""
    done = 0
    while done < len(found):
        yield list(found.items())[done]
        done += 1


def _own(v: AnyValue) -> bool:
    """Is it memory that is made here, or that nobody writes, or none?"""
    if isinstance(v, Call):
        callee = v.called_function
        return callee is not None and callee.is_declaration and behaviour(v, callee).kind == "allocate"
    return isinstance(v, (Alloca, Function, GlobalVariable, Constant)) and not isinstance(v, ConstExpr)


def _merged(v: Phi | Select, flow: Flow) -> list[AnyValue]:
    """What a phi or a select may be."""
    return [x for x, b in v.incoming() if b in flow] if isinstance(v, Phi) else [v.if_true, v.if_false]


def _outside(scope: object, f: Frame, loop: Loop) -> bool:
    """Does what changes there stay the same while the loop runs? What callers hand on does."""
    if scope is None:
        return True
    assert isinstance(scope, tuple)
    frame, changing = scope
    return frame is not f or changing is None or (changing is not loop and changing.encloses(loop))
