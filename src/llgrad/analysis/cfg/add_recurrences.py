"""What an integer or pointer is at iteration i of a loop: first + i * step, proven, or None; `loops` counts with it.

These are the add recurrences of LLVM's ScalarEvolution (Bachmann, Wang, Zima, "Chains of recurrences"), of degree one.

Iteration i = 0, 1, … starts with the i-th execution of the header in one run of the loop. All arithmetic is modulo
2**bits; pointers are the integers of their addresses (address space 0 only).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.objects import gep_terms
from llgrad.ir.types import PTR, DataLayout, IntType, Type, VectorType
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Cast,
    Constant,
    ConstInt,
    ConstNull,
    GetElementPtr,
    GlobalValue,
    Instruction,
    Phi,
    Undef,
    Value,
)

DEPTH = 8  # of the expressions that are looked through


class Emit(Protocol):
    """Who writes the instructions of a count; `ir.build.Builder` is one."""

    def binary(self, opcode: str, lhs: AnyValue, rhs: AnyValue, /) -> AnyValue: ...

    def icmp(self, predicate: str, lhs: AnyValue, rhs: AnyValue, /) -> AnyValue: ...

    def select(self, condition: AnyValue, a: AnyValue, b: AnyValue, /) -> AnyValue: ...

    def cast(self, opcode: str, value: AnyValue, type: Type, /) -> AnyValue: ...


Values = Mapping[AnyValue, AnyValue]
Term = Callable[[Emit, Values], AnyValue]


class Induction(Struct, frozen=True):
    """At iteration i, `phi` is start + i * factor * unit, modulo 2**bits; pointers count bytes.

    `unit` is None (meaning 1) or a loop-invariant integer, sign-extended or truncated to `bits`. `next` computes the
    value of the next iteration. The flags of `next` tell when the value is poison instead.
    """

    phi: Phi
    start: AnyValue
    unit: AnyValue | None
    factor: int  # signed
    next: Instruction
    bits: int

    @property
    def step(self) -> AnyValue | None:
        """factor * unit where it is a value that exists: a constant, or the unit itself; else None."""
        if self.unit is None:
            return const(self.bits, self.factor)
        return self.unit if self.factor == 1 and self.unit.type == IntType(self.bits) else None

    @property
    def constant_step(self) -> int | None:
        """The step, signed, where it is a constant."""
        return self.factor if self.unit is None else None

    def offset(self, emit: Emit, iteration: AnyValue, unit: AnyValue | None = None) -> AnyValue:
        """Write iteration * factor * unit, an integer of `bits` bits; `unit` stands for `self.unit`."""
        e, width = Folding(emit), IntType(self.bits)
        amount = e.binary("mul", resize(e, iteration, width, "zext"), const(self.bits, self.factor))
        given = self.unit if unit is None else unit
        return amount if given is None else e.binary("mul", amount, resize(e, given, width, "sext"))

    def __str__(self) -> str:
        times = f"{self.factor}" + (f" * {text_of(self.unit)}" if self.unit is not None else "")
        return f"{text_of(self.phi)} = {text_of(self.start)} + i * {times} (mod 2**{self.bits})"


def inductions(flow: Flow, loop: Loop, layout: DataLayout | None = None) -> dict[Phi, Induction]:
    """The header phis that advance by the same amount in each iteration. Without a layout, the module's."""
    reader = Reader(flow, loop, layout)
    found = ((phi, reader.induction(phi)) for phi in loop.header.phis())
    return {phi: induction for phi, induction in found if induction is not None}


def invariant(loop: Loop, value: AnyValue) -> bool:
    """Is `value` a constant, an argument or computed outside the loop?"""
    return value not in loop


# --- sequences: what a value is at iteration i ----------------------------------------------------------------------


class Recurrence(Struct, frozen=True):
    """first + i * step * unit, modulo 2**bits.

    `signed`: read as signed integers, the sequence is exactly that, without wrapping, wherever it is not poison;
    `unsigned` likewise. A unit is read in the same way. `first` is congruent to `base` (None: 0) modulo 2**zeros.
    """

    term: Term  # writes `first`
    operands: tuple[AnyValue, ...]  # variables of `term`
    bits: int
    text: str
    step: int = 0
    unit: AnyValue | None = None
    signed: bool = True
    unsigned: bool = True
    base: AnyValue | None = None
    zeros: int = 0
    value: AnyValue | None = None  # the invariant itself

    def exact(self, signed: bool) -> bool:
        return self.signed if signed else self.unsigned


class Reader(Struct, frozen=True):
    """Finds sequences in one loop."""

    flow: Flow
    loop: Loop
    given_layout: DataLayout | None

    @property
    def layout(self) -> DataLayout | None:
        module = self.flow.function.module
        return self.given_layout or (module.layout if module else None)

    def bits(self, t: Type) -> int | None:
        if isinstance(t, IntType):
            return t.bits
        return 8 * self.layout.size(t) if t == PTR and self.layout else None

    def induction(self, phi: Phi) -> Induction | None:
        live = [(v, b) for v, b in phi.incoming() if b in self.flow]
        starts = list(dict.fromkeys(v for v, b in live if b not in self.loop))
        nexts = list(dict.fromkeys(v for v, b in live if b in self.loop))
        bits = self.bits(phi.type)
        if phi.block is not self.loop.header or bits is None or len(starts) != 1 or len(nexts) != 1:
            return None
        next = self._merged(nexts[0])
        if not isinstance(next, Instruction) or next not in self.loop:
            return None
        step = self._step(phi, next, bits)
        return Induction(phi, starts[0], *step, next, bits) if step else None

    def _merged(self, v: AnyValue, depth: int = 4) -> AnyValue:
        """Where `v` merges equal sums of what is the same throughout an iteration: the one that promises least.

        So LLVM leaves `i + 1` if only some ways through an iteration need it before the end (GVN).
        """
        if not depth or not isinstance(v, Phi) or v not in self.loop or v.block is self.loop.header:
            return v
        sums: list[Binary] = []
        for x in (x for x, b in v.incoming() if b in self.flow):
            part = self._merged(x, depth - 1)
            first = sums[0] if sums else part
            if not isinstance(part, Binary) or not isinstance(first, Binary) or part.opcode != first.opcode:
                return v
            if part.operands != first.operands:
                return v
            sums.append(part)
        least = min(sums, key=lambda x: len(x.flags), default=None)
        if least is None or not all(x.flags >= least.flags for x in sums):
            return v
        steady = (x not in self.loop or isinstance(x, Phi) and x.block is self.loop.header for x in least.operands)
        return least if all(steady) else v

    def _step(self, phi: Phi, next: Instruction, bits: int) -> tuple[AnyValue | None, int] | None:
        """Unit and factor of `next` - `phi`."""
        match next:
            case Binary("sub", lhs, rhs) if lhs is phi:
                return self._scaled(rhs, -1, bits)
            case Binary("add" | "or", lhs, rhs) if next.opcode == "add" or "disjoint" in next.flags:
                other = rhs if lhs is phi else lhs if rhs is phi else phi
                return self._scaled(other, 1, bits)
            case GetElementPtr() if next.pointer is phi and phi.type == PTR:
                return self._pointer_step(next, bits)
        return None

    def _pointer_step(self, next: GetElementPtr, bits: int) -> tuple[AnyValue | None, int] | None:
        split = self.split_gep(next)
        if split is None:
            return None
        constant, indices = split
        if not indices:
            return (None, signed_of(constant, bits)) if constant % (1 << bits) else None
        return self._scaled(indices[0][0], indices[0][1], bits) if len(indices) == 1 and not constant else None

    def _scaled(self, value: AnyValue, factor: int, bits: int) -> tuple[AnyValue | None, int] | None:
        if not invariant(self.loop, value) or isinstance(value, Undef):
            return None
        if not isinstance(value, ConstInt):
            return value, factor
        step = signed_of(value.signed * factor, bits)
        return (None, step) if step else None

    def split_gep(self, gep: GetElementPtr) -> tuple[int, list[tuple[AnyValue, int]]] | None:
        """The byte offset as a constant and (index, size) pairs."""
        if self.layout is None or _scalable(gep.source_type):
            return None
        if (found := gep_terms(gep.source_type, gep.indices, self.layout)) is None:
            return None
        (constant, terms), variable = found, []
        for index, size in terms:
            if not isinstance(index.type, IntType):
                return None
            if isinstance(index, ConstInt):
                constant += index.signed * size
            elif size:
                variable.append((index, size))
        return constant, variable

    def read(self, value: AnyValue, depth: int = DEPTH) -> Recurrence | None:
        """`value` as a sequence over the iterations of the loop."""
        bits = self.bits(value.type)
        if bits is None or depth == 0 or isinstance(value, Undef):
            return None
        if invariant(self.loop, value):
            return _invariant_recurrence(value, bits, self)
        match value:
            case Phi() if (merged := self._merged(value)) is not value:
                return self.read(merged, depth - 1)
            case Phi():
                return self._phi(value)
            case Binary(opcode, lhs, rhs):
                a, b = self.read(lhs, depth - 1), self.read(rhs, depth - 1)
                return _arithmetic(opcode, a, b, value.flags) if a and b else None
            case Cast(opcode, inner):
                a = self.read(inner, depth - 1)
                return _convert(opcode, a, bits, value.flags) if a else None
            case GetElementPtr():
                return self._gep(value, bits, depth)
        return None

    def _phi(self, phi: Phi) -> Recurrence | None:
        found = self.induction(phi)
        first = self.read(found.start) if found else None
        if found is None or first is None:
            return None
        step, next = found.factor, found.next
        if isinstance(next, GetElementPtr):
            fine = bool({"inbounds", "nusw"} & next.flags) or ("nuw" in next.flags and step > 0)
            flags = (False, fine and found.unit is None)
        else:
            flags = _increment_flags(next, found)
        return replace(first, step=step, unit=found.unit, signed=flags[0], unsigned=flags[1], value=None)

    def _gep(self, gep: GetElementPtr, bits: int, depth: int) -> Recurrence | None:
        total, split = self.read(gep.pointer, depth - 1), self.split_gep(gep)
        if total is None or split is None or gep.type != PTR:
            return None
        result: Recurrence | None = _plus_constant(total, split[0])
        exact, forward = True, "nuw" in gep.flags and split[0] >= 0 and not split[1]
        for index, size in split[1]:
            a = self.read(index, depth - 1)
            a = _convert("sext" if a.bits < bits else "trunc", a, bits, frozenset()) if a and a.bits != bits else a
            a = _arithmetic("mul", a, fixed(bits, size), frozenset({"nsw"})) if a else None
            result = _arithmetic("add", result, a, frozenset()) if result and a else None
            exact = exact and a is not None and a.signed
        if result is None:
            return None
        kept = total.unsigned and exact and (forward or bool({"inbounds", "nusw"} & gep.flags))
        return _checked(replace(result, signed=False, unsigned=kept))


def _invariant_recurrence(value: AnyValue, bits: int, reader: Reader) -> Recurrence:
    def term(e: Emit, values: Values) -> AnyValue:
        chosen = values.get(value, value)
        return e.cast("ptrtoint", chosen, IntType(bits)) if value.type == PTR else chosen

    base, zeros = (value, bits) if value.type == PTR else (None, _trailing_zeros(value, bits))
    at = value
    while isinstance(at, GetElementPtr) and at.type == PTR and (split := reader.split_gep(at)) is not None:
        parts = [zeros_of(split[0], bits), *(zeros_of(s, bits) + _trailing_zeros(i, bits) for i, s in split[1])]
        zeros, base = min([zeros, *parts]), at.pointer
        at = at.pointer
    return Recurrence(term, variables(value), bits, text_of(value), base=base, zeros=zeros, value=value)


def fixed(bits: int, n: int) -> Recurrence:
    value = const(bits, n)
    return Recurrence(lambda e, v: value, (), bits, str(n), zeros=zeros_of(n, bits), value=value)


def _increment_flags(next: Instruction, found: Induction) -> tuple[bool, bool]:
    """Do `nsw` and `nuw` of the increment make the sequence exact when read as signed, as unsigned?"""
    signed, unsigned = _flags(next)
    if found.unit is not None:
        return signed, unsigned
    # nuw adds the constant read as unsigned: only where that is the signed reading too
    written = found.factor if next.opcode != "sub" else -found.factor
    overflows = next.opcode == "sub" and found.factor == -(1 << (found.bits - 1))
    return signed and not overflows, unsigned and written > 0


def _flags(instruction: Instruction) -> tuple[bool, bool]:
    both = instruction.opcode == "or" and "disjoint" in instruction.flags
    return both or "nsw" in instruction.flags, both or "nuw" in instruction.flags


def _arithmetic(opcode: str, a: Recurrence, b: Recurrence, flags: frozenset[str]) -> Recurrence | None:
    """The sequence of `a opcode b`."""
    match opcode:
        case "add" | "sub":
            return sum_of(opcode, a, b, flags)
        case "or" if "disjoint" in flags:
            return sum_of("add", a, b, frozenset({"nsw", "nuw"}))
        case "mul":
            a, b = (a, b) if isinstance(b.value, ConstInt) else (b, a)
            return _product(a, b.value.signed, flags) if isinstance(b.value, ConstInt) else None
        case "shl" if isinstance(b.value, ConstInt) and b.value.value < b.bits - 1:
            return _product(a, 1 << b.value.value, flags)
    return None


def sum_of(opcode: str, a: Recurrence, b: Recurrence, flags: frozenset[str]) -> Recurrence | None:
    sign = -1 if opcode == "sub" else 1
    if b.value is not None and is_number(b.value, 0):
        return a
    if a.unit is not b.unit and a.step and b.step:
        return None
    bases = [x for x in (a.base, b.base) if x is not None]
    cancel = sign < 0 and a.base is not None and a.base == b.base
    known = cancel or not bases or (len(bases) == 1 and a.base is not None)
    left, right = a.term, b.term
    return _checked(
        Recurrence(
            lambda e, v: e.binary(opcode, left(e, v), right(e, v)),
            (*a.operands, *b.operands),
            a.bits,
            f"({a.text} {'-' if sign < 0 else '+'} {b.text})",
            a.step + sign * b.step,
            a.unit if a.step else b.unit,
            a.signed and b.signed and "nsw" in flags,
            a.unsigned and b.unsigned and "nuw" in flags,
            None if cancel else a.base if known else None,
            min(a.zeros, b.zeros) if known else 0,
        )
    )


def _plus_constant(a: Recurrence, n: int) -> Recurrence | None:
    return sum_of("add", a, fixed(a.bits, n), frozenset())


def _product(a: Recurrence, n: int, flags: frozenset[str]) -> Recurrence | None:
    factor, term = const(a.bits, n), a.term
    signed, unsigned = a.signed and "nsw" in flags, a.unsigned and "nuw" in flags and n > 0
    zeros = 0 if a.base is not None else min(a.bits, a.zeros + zeros_of(n, a.bits))
    return _checked(
        replace(
            a, term=lambda e, v: e.binary("mul", term(e, v), factor), text=f"{a.text} * {n}", step=a.step * n,
            signed=signed, unsigned=unsigned, base=None, zeros=zeros, value=None,
        )
    )  # fmt: skip


def _convert(opcode: str, a: Recurrence, bits: int, flags: frozenset[str]) -> Recurrence | None:
    """The sequence of an integer cast; an extension of a sequence that may wrap is none."""
    width, term = IntType(bits), a.term
    base, zeros = (None, 0) if a.base is not None else (None, min(a.zeros, bits))
    result = replace(
        a, term=lambda e, v: e.cast(opcode, term(e, v), width), bits=bits, base=base, zeros=zeros, value=None
    )
    varies = a.step != 0
    match opcode:
        case "trunc" if a.unit is None:
            signed, unsigned = a.signed and "nsw" in flags, a.unsigned and "nuw" in flags
            return _checked(replace(result, signed=signed, unsigned=unsigned))
        case "zext" if not varies or (a.unit is None and (a.unsigned or (a.signed and "nneg" in flags))):
            return replace(result, signed=True, unsigned=True)
        case "sext" if not varies or (a.unit is None and a.signed):
            return replace(result, signed=True, unsigned=not varies)
        case "ptrtoint" | "inttoptr" if a.bits == bits and a.unit is None:
            return replace(result, term=term, base=a.base, zeros=a.zeros)
    return None


def _checked(a: Recurrence) -> Recurrence:
    """Bring the step into range, forgetting flags that a step out of range makes vacuous; constants never wrap."""
    step = signed_of(a.step, a.bits)
    if step == 0:
        return replace(a, step=0, unit=None, signed=True, unsigned=True)
    kept = step == a.step
    return replace(a, step=step, signed=a.signed and kept, unsigned=a.unsigned and kept)


# --- small helpers ---------------------------------------------------------------------------------------------------


class Folding:
    """Passes on what is not constant."""

    def __init__(self, to: Emit) -> None:
        self.to = to

    def binary(self, opcode: str, lhs: AnyValue, rhs: AnyValue, /) -> AnyValue:
        if opcode == "add" and is_number(lhs, 0):
            return rhs
        if opcode in ("add", "sub", "lshr") and is_number(rhs, 0) or opcode in ("mul", "udiv") and is_number(rhs, 1):
            return lhs
        if isinstance(lhs, ConstInt) and isinstance(rhs, ConstInt):
            return const(width_of(lhs), FOLD[opcode](lhs.value, rhs.value))
        return self.to.binary(opcode, lhs, rhs)

    def icmp(self, predicate: str, lhs: AnyValue, rhs: AnyValue, /) -> AnyValue:
        if isinstance(lhs, ConstInt) and isinstance(rhs, ConstInt):
            return const(1, int(_holds(predicate, lhs, rhs)))
        return self.to.icmp(predicate, lhs, rhs)

    def select(self, condition: AnyValue, a: AnyValue, b: AnyValue, /) -> AnyValue:
        if isinstance(condition, ConstInt):
            return a if condition.value else b
        return self.to.select(condition, a, b)

    def cast(self, opcode: str, value: AnyValue, type: Type, /) -> AnyValue:
        if value.type == type:
            return value
        if isinstance(value, ConstNull) and isinstance(type, IntType):
            return ConstInt(type, 0)
        if isinstance(value, ConstInt) and isinstance(type, IntType):
            return const(type.bits, value.signed if opcode == "sext" else value.value)
        return self.to.cast(opcode, value, type)


class Counting:
    """Counts instructions and writes none."""

    def __init__(self) -> None:
        self.written = 0

    def binary(self, opcode: str, lhs: AnyValue, rhs: AnyValue, /) -> AnyValue:
        return self._write(lhs.type)

    def icmp(self, predicate: str, lhs: AnyValue, rhs: AnyValue, /) -> AnyValue:
        return self._write(IntType(1))

    def select(self, condition: AnyValue, a: AnyValue, b: AnyValue, /) -> AnyValue:
        return self._write(a.type)

    def cast(self, opcode: str, value: AnyValue, type: Type, /) -> AnyValue:
        return self._write(type)

    def _write(self, type: Type) -> Value:
        self.written += 1
        return Value(type)


FOLD: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "udiv": lambda a, b: a // b,
    "lshr": lambda a, b: a >> b,
    "and": lambda a, b: a & b,
    "xor": lambda a, b: a ^ b,
}


def _holds(predicate: str, a: ConstInt, b: ConstInt) -> bool:
    x, y = (a.signed, b.signed) if predicate[0] == "s" else (a.value, b.value)
    results = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
    return results[predicate if predicate in results else predicate[1:]]


def const(bits: int, n: int) -> ConstInt:
    return ConstInt(IntType(bits), n % (1 << bits))


def is_number(value: AnyValue, n: int) -> bool:
    return isinstance(value, ConstInt) and value.value == n


def width_of(value: AnyValue) -> int:
    assert isinstance(value.type, IntType)
    return value.type.bits


def resize(e: Emit, value: AnyValue, to: IntType, extend: str) -> AnyValue:
    have = width_of(value)
    return value if have == to.bits else e.cast(extend if have < to.bits else "trunc", value, to)


def signed_of(n: int, bits: int) -> int:
    n %= 1 << bits
    return n - (1 << bits) if n >> (bits - 1) else n


def zeros_of(n: int, bits: int) -> int:
    """Trailing zero bits of n modulo 2**bits."""
    n %= 1 << bits
    return (n & -n).bit_length() - 1 if n else bits


def _trailing_zeros(value: AnyValue, bits: int, depth: int = DEPTH) -> int:
    """At least so many low bits of an integer are zero (or it is poison)."""
    if depth == 0:
        return 0
    match value:
        case ConstInt():
            return zeros_of(value.value, bits)
        case Binary("shl", lhs, ConstInt(_, n)):
            return min(bits, n + _trailing_zeros(lhs, bits, depth - 1))
        case Binary("mul", lhs, rhs):
            return min(bits, _trailing_zeros(lhs, bits, depth - 1) + _trailing_zeros(rhs, bits, depth - 1))
        case Binary("and", lhs, rhs):
            return max(_trailing_zeros(lhs, bits, depth - 1), _trailing_zeros(rhs, bits, depth - 1))
        case Binary("add" | "sub" | "or", lhs, rhs):
            return min(_trailing_zeros(lhs, bits, depth - 1), _trailing_zeros(rhs, bits, depth - 1))
        case Cast("zext" | "sext" | "trunc", inner):
            return min(bits, _trailing_zeros(inner, width_of(inner), depth - 1))
    return 0


def _scalable(t: Type) -> bool:
    return isinstance(t, VectorType) and t.scalable


def variables(value: AnyValue | None) -> tuple[AnyValue, ...]:
    """The value, unless it is a constant."""
    return () if value is None or isinstance(value, (Constant, GlobalValue)) else (value,)


def text_of(value: AnyValue | None) -> str:
    match value:
        case ConstInt():
            return str(value.signed)
        case GlobalValue():
            return f"@{value.name}"
        case Value():
            return f"%{value.name}"
    return "null" if isinstance(value, ConstNull) else "constant"
