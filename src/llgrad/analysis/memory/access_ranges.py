"""Which bytes around each pointer argument a function may touch, in terms of what is known when it is entered.

`extents(function)` reads the function as it is, and what it calls, once for each call. An address is an argument and a
polynomial (`polynomial_bounds`) in the integer arguments and in the iterations of the loops around. What is found holds
whatever the memory holds and whether or not arguments overlap: numbers that come from memory have no bounds. More bytes
than are touched may be named, never fewer.

`entry_polynomials` evaluates the integers. Refused is what accesses memory of unknown origin: through pointers in
memory, in variables of the program, in functions that are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from llgrad.analysis.cfg.flow import Loop, flow
from llgrad.analysis.memory.call_effects import STOPS, behaviour
from llgrad.analysis.memory.entry_polynomials import (
    MOST_PLACES,
    OWN,
    Frame,
    Numbers,
    Place,
    Places,
    Refused,
    extended,
    given_number,
    is_readable,
    merged,
)
from llgrad.analysis.memory.entry_values import Ahead, Field
from llgrad.analysis.memory.polynomial_bounds import (
    Between,
    Known,
    Poly,
    Value,
    Writer,
)
from llgrad.analysis.objects import gep_base
from llgrad.ir.module import Module
from llgrad.ir.types import PTR, ArrayType, DataLayout, IntType, PointerType, StructType, Type, VectorType
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Call,
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


def _written(name: str) -> Known:
    """A number that has this name where the bounds are computed."""
    return Known(lambda _: name)


class Reader(Numbers):
    def __init__(self, module: Module, found: Extents, opaque: frozenset[str]) -> None:
        super().__init__(found.needs)
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
            for v in merged(p, f.flow):
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

    def from_memory(self, f: Frame, load: Load) -> Poly | None:
        """A field, or an integer of an array that a nest reads, as it was at the entry."""
        if (ahead := self.ahead) is None or len(f.stack) != 1:
            return None
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
