"""What memory holds when a function is entered, read there before the function runs.

A range test (`access_ranges`) needs numbers that are known at the entry. Sizes behind a struct pointer and indices in
an array are such numbers, if nothing changes them while the function runs. A `Prelude` reads them ahead:

    define void @f(ptr %n) {               %f0 = load i32, ptr %p0            ; a field
      %size = load i32, ptr %n       ->    %more = icmp sgt i32 %f0, 0        ; does the function read %w?
      %c = icmp sgt i32 %size, 0           br i1 %more, label %k1, label %slow
      br i1 %c, label %head, label %end  k1:
    head:                                  %at = getelementptr i8, ptr %p0, i64 8
      %w = load ptr, ptr %n.8              %p1 = load ptr, ptr %at            ; a pointer that became an argument

Nothing is read that the function would not read: a load has *guards*, the conditions under which its block certainly
runs. They are made of values that the prelude can compute. Where one does not hold, the prelude gives up (`%slow`).
Whoever uses what was read tests that the function writes none of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from llgrad.analysis.cfg.flow import Flow, Loop, flow
from llgrad.analysis.cfg.loops import Count, backedge_count
from llgrad.analysis.memory.call_effects import STOPS, behaviour
from llgrad.analysis.objects import gep_offset
from llgrad.ir.types import I64, PTR, DataLayout, IntType, PointerType, StructType, Type
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
    ConstNull,
    Function,
    GetElementPtr,
    Load,
    Select,
    Value,
)

MOST_LOOPS = 2  # of a nest that is scanned
DEPTH = 12  # of the conditions that are computed
_SAFE = ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor")  # none traps
_EXTREMES = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.")
_DECLARED = ("llvm.smin.i64", "llvm.smax.i64")  # beside every test
Guards = tuple[tuple[AnyValue, bool], ...]
"""Conditions, outermost first, and what they must be."""


class Field(Struct, frozen=True):
    """A place in memory: so many bytes behind an argument of the function, read as `type`."""

    base: int
    offset: int
    type: Type


class Scan(Struct, frozen=True):
    """The integers that a load reads in a nest: in each iteration of the loops, at these distances in bytes."""

    first: Field
    loops: tuple[tuple[Loop, int], ...]


class Pointer(Struct, frozen=True):
    """An argument that was a pointer in memory: where it lies, and what guards its loads."""

    index: int
    field: Field
    guards: Guards


def constant_address(pointer: AnyValue, layout: DataLayout) -> tuple[Argument, int] | None:
    """The argument and the distance in bytes, where both are known."""
    total = 0
    while isinstance(pointer, GetElementPtr):
        at = gep_offset(pointer.source_type, pointer.indices, layout)
        if at is None:
            return None
        total, pointer = total + at, pointer.pointer
    return (pointer, total) if isinstance(pointer, Argument) else None


def is_plain(load: Load) -> bool:
    return not (load.flags & {"volatile", "atomic"} or load.ordering)


def comes_back(function: Function, known: set[Function] | None = None) -> bool:
    """Does every call of the function return, if it ends?"""
    known = set() if known is None else known
    if function in known:
        return True
    known.add(function)
    f = flow(function)
    return all(f.reaches_return(b) and all(_returns(i, known) for i in b.instructions) for b in f.order)


def _returns(i: object, known: set[Function]) -> bool:
    if not isinstance(i, Call):
        return True
    callee = i.called_function
    if callee is None or i.targets:
        return False
    if not callee.is_declaration:
        return callee.attribute("nounwind") is not None and comes_back(callee, known)
    found = behaviour(i, callee)
    return found is not STOPS and all(
        any(a.name == name for a in (*i.attributes, *callee.attributes)) for name in ("nounwind", "willreturn")
    )


def guards(f: Flow, block: Block, layout: DataLayout) -> Guards | None:
    """The conditions under which `block` runs, whenever the function does: at once, and in each iteration around it.

    None where some condition cannot be computed at the entry. (`comes_back` is taken for granted.)
    """
    found: list[tuple[AnyValue, bool]] = []
    while outer := [(c, edge) for c, edge in f.controls(block) if not f.dominates(block, c)]:
        (c, edge), *others = outer
        branch = c.terminator
        if others or not f.dominates(c, block) or not isinstance(branch, Branch) or branch.condition is None:
            return None
        if len(set(branch.targets)) != 2 or not is_computable(branch.condition, layout):
            return None
        found.append((branch.condition, edge == 0))
        block = c
    return tuple(reversed(found))


def is_computable(v: AnyValue, layout: DataLayout, depth: int = DEPTH) -> bool:
    """Is `v` made of arguments, constants and fields, by instructions that cannot trap?"""
    if depth == 0:
        return False
    match v:
        case ConstInt() | ConstNull() | Argument():
            return isinstance(v.type, (IntType, PointerType))
        case Load():
            return as_field(v, layout) is not None
        case Binary("sdiv" | "udiv", lhs, ConstInt(signed=by)) if by > 0:
            return is_computable(lhs, layout, depth - 1)
        case Binary() if v.opcode not in _SAFE or not isinstance(v.type, IntType):
            return False
        case Cast() if v.opcode not in ("trunc", "zext", "sext", "ptrtoint") or not isinstance(v.type, IntType):
            return False
        case Compare() if v.opcode != "icmp" or v.type != IntType(1):
            return False
        case Binary() | Cast() | Compare() | Select():
            return all(is_computable(x, layout, depth - 1) for x in v.operands)
        case Call() if (callee := v.called_function) is not None and callee.name.startswith(_EXTREMES):
            return all(is_computable(x, layout, depth - 1) for x in v.arguments)
    return False


def as_field(load: Load, layout: DataLayout) -> Field | None:
    """The field that a load of an integer reads."""
    if not is_plain(load) or not isinstance(t := load.type, IntType) or t.bits not in range(8, 65, 8):
        return None
    found = constant_address(load.pointer, layout)
    return None if found is None else Field(found[0].index, found[1], t)


class Ahead(Struct):
    """What is read ahead of one function: fields and scans, with guards and their names in the test."""

    pointers: dict[int, Pointer] = field(default_factory=dict)  # by position of the argument
    distances: dict[int, tuple[int, int]] = field(default_factory=dict)  # likewise: of which pointers
    fields: dict[Field, tuple[str, Guards]] = field(default_factory=dict)
    scans: dict[Scan, tuple[str, Guards, tuple[Count, ...]]] = field(default_factory=dict)

    def number(self, f: Flow, load: Load, layout: DataLayout) -> str | None:
        """The name of the field that `load` reads; None where it cannot be read ahead."""
        found = as_field(load, layout)
        if found is None:
            return None
        if found not in self.fields:
            if (given := guards(f, load.block, layout)) is None:
                return None
            self.fields[found] = (f"%f{len(self.fields)}", given)
        return self.fields[found][0]

    def bounds(
        self, f: Flow, load: Load, first: Field, strides: Sequence[tuple[Loop, int]], layout: DataLayout
    ) -> str | None:
        """The name of the bounds of what `load` reads, at `strides` from `first` in the loops around it."""
        scan = Scan(first, tuple(strides))
        if scan not in self.scans:
            given, counts = guards(f, load.block, layout), list[Count]()
            for loop, _ in strides:
                count = backedge_count(f, loop, layout) if len(loop.exits) == 1 else None
                if count is None or not all(is_computable(v, layout) for v in count.operands):
                    return None
                counts.append(count)
            if given is None or not 1 <= len(counts) <= MOST_LOOPS:
                return None
            self.scans[scan] = (f"%m{len(self.scans)}", given, tuple(counts))
        return self.scans[scan][0]


class Prelude:
    """Writes LLVM assembly that reads ahead; it goes to `%slow` where the function may not read so."""

    def __init__(self, ahead: Ahead, shadows: Sequence[int], layout: DataLayout) -> None:
        self.ahead, self.layout = ahead, layout
        self.shadows = shadows  # how many each argument has
        self.lines: list[str] = []
        self.scanned: dict[int, None] = {}  # widths
        self.called: dict[str, str] = {}
        self._numbers: dict[str, Value] = {}
        self._done: dict[object, None] = {}
        for pointer in ahead.pointers.values():
            self._require(pointer.guards)
            self._pointer(pointer)
        for index in ahead.distances:
            self._distance(index)
        for found, (_, given) in list(ahead.fields.items()):
            self._require(given)
            self._field(found)
        for scan in ahead.scans:
            self._scan(scan)

    def names(self) -> Iterator[tuple[str, str]]:
        """Types and names of the numbers that were read."""
        for found, (name, _) in self.ahead.fields.items():
            yield str(found.type), name
        for name, *_ in self.ahead.scans.values():
            yield from (("i64", f"{name}.{end}") for end in ("low", "high"))

    def functions(self) -> str:
        """The functions that are called, in LLVM assembly."""
        declared = (f"declare {t} @{name}({t}, {t})\n" for name, t in self.called.items() if name not in _DECLARED)
        return "".join(declared) + "".join(map(bounds, self.scanned))

    # --- what is read

    def _pointer(self, p: Pointer) -> None:
        if p not in self._done:
            self._done[p] = None
            self._base(p.field)
            self._load(f"%p{p.index}", "ptr", f"%p{p.field.base}", p.field.offset)
            for lane in range(self.shadows[p.index]):
                self._load(f"%s{p.index}.{lane}", "ptr", f"%s{p.field.base}.{lane}", p.field.offset)

    def _distance(self, index: int) -> None:
        if index not in self._done:
            self._done[index] = None
            ends = self.ahead.distances[index]
            for end in ends:
                if end in self.ahead.pointers:
                    self._pointer(self.ahead.pointers[end])
            first, last = (self._line(f"ptrtoint ptr %p{end} to i64") for end in ends)
            self.lines.append(f"%p{index} = sub i64 {first}, {last}")

    def _field(self, found: Field) -> str:
        name, _ = self.ahead.fields.setdefault(found, (f"%f{len(self.ahead.fields)}", ()))
        if found not in self._done:
            self._done[found] = None
            self._base(found)
            self._load(name, str(found.type), f"%p{found.base}", found.offset)
        return name

    def _scan(self, scan: Scan) -> None:
        name, given, found = self.ahead.scans[scan]
        self._require(given)
        self._base(scan.first)
        assert isinstance(scan.first.type, IntType)
        self.scanned[scan.first.type.bits] = None
        at = f"%{self._made(PTR, f'getelementptr i8, ptr %p{scan.first.base}, i64 {scan.first.offset}').name}"
        counts = [self._text(count.emit(self, tuple(map(self._value, count.operands)))) for count in found]
        nest = [*zip(counts, (n for _, n in scan.loops), strict=True), ("0", 0)][:MOST_LOOPS]
        given_nest = ", ".join(f"i64 {count}, i64 {n}" for count, n in nest)
        pair = StructType((I64, I64))
        both = self._made(pair, f"call {pair} @llgrad.bounds.i{scan.first.type.bits}(ptr {at}, {given_nest})")
        for n, end in enumerate(("low", "high")):
            self.lines.append(f"{name}.{end} = extractvalue {pair} %{both.name}, {n}")

    def _base(self, found: Field) -> None:
        if found.base in self.ahead.pointers:
            self._pointer(self.ahead.pointers[found.base])

    def _load(self, name: str, type: str, base: str, offset: int) -> None:
        at = self._line(f"getelementptr i8, ptr {base}, i64 {offset}")
        self.lines.append(f"{name} = load {type}, ptr {at}, align 1")

    def _require(self, given: Guards) -> None:
        for condition, wanted in given:
            name = self._text(self._value(condition))
            if (name, wanted) in self._done:
                continue
            self._done[name, wanted] = None
            label = f"ahead.{len(self._done)}"
            ways = (label, "slow") if wanted else ("slow", label)
            self.lines += [f"br i1 {name}, label %{ways[0]}, label %{ways[1]}", f"{label}:"]

    # --- values of the function, computed here: what a condition is made of was read before it, in the function too

    def _value(self, v: AnyValue) -> AnyValue:
        match v:
            case Argument():
                if v.index in self.ahead.pointers:
                    self._pointer(self.ahead.pointers[v.index])
                if v.index in self.ahead.distances:
                    self._distance(v.index)
                return Value(v.type, f"p{v.index}")
            case Load():
                found = as_field(v, self.layout)
                assert found is not None
                return Value(v.type, self._field(found)[1:])
            case Binary():
                return self.binary(v.opcode, *map(self._value, v.operands))
            case Compare():
                return self.icmp(v.predicate, *map(self._value, v.operands))
            case Select():
                return self.select(*map(self._value, v.operands))
            case Cast():
                return self.cast(v.opcode, self._value(v.value), v.type)
            case Call():
                assert v.called_function is not None
                self.called[v.called_function.name] = str(v.type)
                a, b = (f"{x.type} {self._text(self._value(x))}" for x in v.arguments)
                return self._made(v.type, f"call {v.type} @{v.called_function.name}({a}, {b})")
        return v

    def binary(self, opcode: str, lhs: AnyValue, rhs: AnyValue, /) -> AnyValue:
        return self._made(lhs.type, f"{opcode} {lhs.type} {self._text(lhs)}, {self._text(rhs)}")

    def icmp(self, predicate: str, lhs: AnyValue, rhs: AnyValue, /) -> AnyValue:
        return self._made(IntType(1), f"icmp {predicate} {lhs.type} {self._text(lhs)}, {self._text(rhs)}")

    def select(self, condition: AnyValue, a: AnyValue, b: AnyValue, /) -> AnyValue:
        text = f"select i1 {self._text(condition)}, {a.type} {self._text(a)}, {b.type} {self._text(b)}"
        return self._made(a.type, text)

    def cast(self, opcode: str, value: AnyValue, type: Type, /) -> AnyValue:
        return value if value.type == type else self._made(type, f"{opcode} {value.type} {self._text(value)} to {type}")

    def _made(self, type: Type, text: str) -> Value:
        if text not in self._numbers:
            self._numbers[text] = Value(type, self._line(text)[1:])
        return self._numbers[text]

    def _line(self, text: str) -> str:
        name = f"%a{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _text(self, v: AnyValue) -> str:
        if isinstance(v, ConstInt):
            return str(v.signed)
        return f"%{v.name}" if isinstance(v, Value) else "null"


def bounds(bits: int) -> str:
    """A function that finds the least and the largest of the integers that a nest of two loops reads."""
    wide = "add i64 %v, 0" if bits == 64 else f"sext i{bits} %v to i64"
    return _BOUNDS.replace("WIDEN", wide).replace("WIDTH", str(bits))


_BOUNDS = """
define linkonce_odr hidden { i64, i64 } @llgrad.bounds.iWIDTH(ptr %p, i64 %n, i64 %s, i64 %m, i64 %t)
noinline nounwind {
entry:
  br label %outer
outer:
  %j = phi i64 [ 0, %entry ], [ %j.next, %next ]
  %row = phi ptr [ %p, %entry ], [ %row.next, %next ]
  %low.j = phi i64 [ 9223372036854775807, %entry ], [ %low, %next ]
  %high.j = phi i64 [ -9223372036854775808, %entry ], [ %high, %next ]
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %at = phi ptr [ %row, %outer ], [ %at.next, %inner ]
  %low.i = phi i64 [ %low.j, %outer ], [ %low, %inner ]
  %high.i = phi i64 [ %high.j, %outer ], [ %high, %inner ]
  %v = load iWIDTH, ptr %at, align 1
  %x = WIDEN
  %low = call i64 @llvm.smin.i64(i64 %x, i64 %low.i)
  %high = call i64 @llvm.smax.i64(i64 %x, i64 %high.i)
  %at.next = getelementptr i8, ptr %at, i64 %s
  %i.next = add i64 %i, 1
  %more = icmp ne i64 %i, %n
  br i1 %more, label %inner, label %next
next:
  %row.next = getelementptr i8, ptr %row, i64 %t
  %j.next = add i64 %j, 1
  %again = icmp ne i64 %j, %m
  br i1 %again, label %outer, label %done
done:
  %r = insertvalue { i64, i64 } poison, i64 %low, 0
  %both = insertvalue { i64, i64 } %r, i64 %high, 1
  ret { i64, i64 } %both
}
"""
