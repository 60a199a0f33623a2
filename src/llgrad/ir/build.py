"""Writing instructions: a `Builder` stands at the end of a block and appends; constants have short makers.

The builder folds nothing but what would only blur the emitted text; LLVM cleans up after it. Names are made unique per
function by a `Names`.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Iterable, Sequence
from fractions import Fraction

from llgrad.ir.types import (
    DOUBLE,
    FLOAT_BITS,
    I1,
    I8,
    I64,
    PTR,
    ArrayType,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from llgrad.ir.values import (
    Alloca,
    AnyConstant,
    AnyValue,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    ConstAggregate,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstNull,
    ConstZero,
    ExtractElement,
    ExtractValue,
    Function,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    MDRef,
    Phi,
    Return,
    Select,
    Store,
    Unary,
    Undef,
    Unreachable,
    put_instead,
)

# exponent bits, explicit mantissa bits (the integer bit of x86_fp80 is stored too)
_FORMATS = {"half": (5, 10), "bfloat": (8, 7), "float": (8, 23), "double": (11, 52), "fp128": (15, 112)}


def float_bits(format: str, value: Fraction) -> int:
    """The bit pattern of `value` rounded to nearest even in `format`; ±0 becomes +0, too large becomes infinity."""
    if format == "double":
        try:
            return int(struct.unpack("<Q", struct.pack("<d", float(value)))[0])
        except OverflowError:
            pass
    exponent_bits, mantissa_bits = _FORMATS.get(format, (15, 63))
    sign, v = (1, -value) if value < 0 else (0, value)
    bias = (1 << (exponent_bits - 1)) - 1
    if v == 0:
        exponent, mantissa = 0, 0
    else:
        e = v.numerator.bit_length() - v.denominator.bit_length()
        e -= v < Fraction(2) ** e
        e = max(e, 1 - bias)
        scaled = v / Fraction(2) ** (e - mantissa_bits)
        n = round(scaled)  # Python rounds half to even
        if n >> (mantissa_bits + 1):
            n, e = n >> 1, e + 1
        normal = n >> mantissa_bits
        exponent = e + bias if normal else 0
        if exponent >= (1 << exponent_bits) - 1:
            exponent, n = (1 << exponent_bits) - 1, 1 << mantissa_bits
        mantissa = n & ((1 << mantissa_bits) - 1)
    if format == "x86_fp80":
        return (sign << 79) | (exponent << 64) | ((1 << 63) if exponent else 0) | mantissa
    return (sign << (exponent_bits + mantissa_bits)) | (exponent << mantissa_bits) | mantissa


def const_int(t: Type, value: int) -> ConstInt:
    assert isinstance(t, IntType)
    return ConstInt(t, value & ((1 << t.bits) - 1))


def i64(value: int) -> ConstInt:
    return const_int(I64, value)


TRUE, FALSE = ConstInt(I1, 1), ConstInt(I1, 0)


def const_float(t: Type, value: Fraction | int | float) -> AnyConstant:
    """`value`, exactly rounded, as a scalar or as a splat."""
    if isinstance(t, VectorType):
        return ConstAggregate(t, (const_float(t.element, value),) * t.count)
    assert isinstance(t, FloatType) and t.name in FLOAT_BITS
    return ConstFloat(t, float_bits(t.name, Fraction(value)))


def zero(t: Type) -> AnyConstant:
    """Zero of any first-class type."""
    match t:
        case IntType():
            return ConstInt(t, 0)
        case FloatType():
            return ConstFloat(t, 0)
        case PointerType():
            return ConstNull(t)
        case _:
            return ConstZero(t)


def clone(i: Instruction) -> Instruction:
    """A copy without operands, targets, users and place."""
    new = copy.copy(i)
    new.operands, new.targets, new.users = [], [], []
    new.block = None  # type: ignore[assignment]
    new.debug_records = ()
    if isinstance(new, Phi):
        new.blocks = []
    return new


_LONGEST = 500  # LLVM cuts names of more than 1024 characters, which inlining makes, and takes the rest for another's


class Names:
    """Fresh names: the wish itself, or the wish with a number; the beginning of a long one."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, wish: str) -> str:
        wish = wish[:_LONGEST]
        name = wish if wish and not wish.isdigit() else f"v{wish}"
        while name in self._taken:
            n = self._next[wish] = self._next.get(wish, 0) + 1
            name = f"{wish or 'v'}.{n}"
        self._taken.add(name)
        return name


class Builder:
    """Appends to `block`, or inserts before position `at` of it."""

    def __init__(self, block: Block, names: Names, flags: frozenset[str] = frozenset()) -> None:
        self.block, self.names, self.fast = block, names, flags
        self.at: int | None = None
        self.metadata: dict[str, MDRef] = {}  # of what is inserted without any

    def at_end(self, block: Block) -> Builder:
        self.block, self.at = block, None
        return self

    def insert(self, instruction: Instruction, name: str = "") -> Instruction:
        """Append a ready-made instruction; anything but void gets a name."""
        if instruction.type.__class__.__name__ != "SimpleType" or str(instruction.type) == "token":
            instruction.name = self.names.fresh(name or instruction.name or "t")
        if self.metadata and not instruction.metadata:
            instruction.metadata = dict(self.metadata)
        if self.at is None:
            self.block.append(instruction)
        else:
            instruction.block = self.block
            self.block.instructions.insert(self.at, instruction)
            self.at += 1
        return instruction

    # arithmetic
    def binary(self, opcode: str, lhs: AnyValue, rhs: AnyValue, name: str = "") -> AnyValue:
        if opcode in ("add", "sub", "or", "shl") and isinstance(rhs, ConstInt) and rhs.value == 0:
            return lhs
        if opcode == "mul" and isinstance(rhs, ConstInt) and rhs.value == 1:
            return lhs
        i = Binary(opcode, lhs.type, [lhs, rhs])
        if opcode[0] == "f":
            i.flags = self.fast
        return self.insert(i, name)

    def unary(self, opcode: str, value: AnyValue, name: str = "") -> AnyValue:
        i = Unary(opcode, value.type, [value])
        if opcode == "fneg":
            i.flags = self.fast
        return self.insert(i, name)

    def cast(self, opcode: str, value: AnyValue, type: Type, name: str = "") -> AnyValue:
        if value.type == type:
            return value
        return self.insert(Cast(opcode, type, [value]), name)

    def icmp(self, predicate: str, lhs: AnyValue, rhs: AnyValue, name: str = "") -> AnyValue:
        return self.insert(Compare("icmp", predicate, lhs, rhs, _bool_like(lhs.type)), name)

    def fcmp(self, predicate: str, lhs: AnyValue, rhs: AnyValue, name: str = "") -> AnyValue:
        return self.insert(Compare("fcmp", predicate, lhs, rhs, _bool_like(lhs.type)), name)

    def select(self, condition: AnyValue, a: AnyValue, b: AnyValue, name: str = "") -> AnyValue:
        return self.insert(Select(condition, a, b), name)

    # memory
    def gep(
        self, type: Type, pointer: AnyValue, indices: Sequence[AnyValue], name: str = "", flags: Iterable[str] = ()
    ) -> AnyValue:
        i = GetElementPtr(type, pointer, indices, pointer.type)
        i.flags = frozenset(flags)
        return self.insert(i, name)

    def offset(self, pointer: AnyValue, bytes: AnyValue | int, name: str = "") -> AnyValue:
        """`pointer + bytes`."""
        if isinstance(bytes, int):
            if bytes == 0:
                return pointer
            bytes = i64(bytes)
        return self.gep(I8, pointer, [bytes], name)

    def load(self, type: Type, pointer: AnyValue, name: str = "", align: int = 1) -> AnyValue:
        return self.insert(Load(type, pointer, align), name)

    def store(self, value: AnyValue, pointer: AnyValue, align: int = 1) -> Instruction:
        return self.insert(Store(value, pointer, align))

    def alloca(self, type: Type, name: str = "", align: int = 0) -> AnyValue:
        return self.insert(Alloca(type, ConstInt(IntType(32), 1), align), name)

    # aggregates
    def extract(self, aggregate: AnyValue, *indices: int, name: str = "") -> AnyValue:
        t = aggregate.type
        for i in indices:
            assert isinstance(t, (StructType, ArrayType))
            t = t.element if isinstance(t, ArrayType) else (t.fields or ())[i]
        return self.insert(ExtractValue(t, aggregate, indices), name)

    def insert_value(self, aggregate: AnyValue, value: AnyValue, *indices: int, name: str = "") -> AnyValue:
        return self.insert(InsertValue(aggregate, value, indices), name)

    def extract_element(self, vector: AnyValue, index: AnyValue | int, name: str = "") -> AnyValue:
        assert isinstance(vector.type, VectorType)
        index = i64(index) if isinstance(index, int) else index
        return self.insert(ExtractElement("extractelement", vector.type.element, [vector, index]), name)

    def insert_element(self, vector: AnyValue, value: AnyValue, index: AnyValue | int, name: str = "") -> AnyValue:
        index = i64(index) if isinstance(index, int) else index
        return self.insert(InsertElement("insertelement", vector.type, [vector, value, index]), name)

    def made_of(self, constant: ConstAggregate | ConstExpr, parts: Sequence[AnyValue]) -> AnyValue:
        """What the constant would be with other parts, by instructions."""
        match constant:
            case ConstExpr(opcode="getelementptr", source_type=Type() as t):
                return self.gep(t, parts[0], parts[1:], flags=constant.flags)
            case ConstExpr(opcode=opcode) if len(parts) == 1:
                return self.cast(opcode, parts[0], constant.type)
            case ConstExpr(opcode=opcode):
                return self.binary(opcode, parts[0], parts[1])
        made: AnyValue = Undef(constant.type, poison=True)
        for n, part in enumerate(parts):
            vector = isinstance(constant.type, VectorType)
            made = self.insert_element(made, part, n) if vector else self.insert_value(made, part, n)
        return made

    # control
    def phi(self, type: Type, incoming: Iterable[tuple[AnyValue, Block]] = (), name: str = "") -> Phi:
        i = Phi(type, incoming)
        self.insert(i, name)
        return i

    def call(self, function: Function, arguments: Sequence[AnyValue], name: str = "") -> Call:
        i = Call(function.function_type, function, arguments)
        self.insert(i, name or function.name.rsplit(".", 1)[-1])
        return i

    def branch(self, target: Block) -> None:
        self.insert(Branch([target]))

    def branch_if(self, condition: AnyValue, if_true: Block, if_false: Block) -> None:
        self.insert(Branch([if_true, if_false], condition))

    def ret(self, value: AnyValue | None = None) -> None:
        self.insert(Return(value))

    def unreachable(self) -> None:
        self.insert(Unreachable())


def _bool_like(t: Type) -> Type:
    return VectorType(I1, t.count, t.scalable) if isinstance(t, VectorType) else I1


def declare(module: object, name: str, result: Type, params: Sequence[Type], vararg: bool = False) -> Function:
    """The function of that name in `module`, declared where it is not there yet."""
    from llgrad.ir.module import Module

    assert isinstance(module, Module)
    found = module.globals.get(name)
    if isinstance(found, Function):
        return found
    f = Function(name, FunctionType(result, tuple(params), vararg))
    module.add(f)
    return f


__all__ = [
    "DOUBLE", "FALSE", "I1", "I64", "PTR", "TRUE", "Builder", "Names", "const_float", "const_int", "declare",
    "float_bits", "i64", "zero",
]  # fmt: skip


def call_instead(old: Call, callee: AnyValue, arguments: Sequence[AnyValue], hidden_result: bool = False) -> Call:
    """Call `callee` in place of `old`, which leaves its block; with a `hidden_result` both have the same `sret`."""
    type = FunctionType(old.function_type.result, tuple(v.type for v in arguments))
    new = Call(type, callee, list(arguments), old.name, old.opcode, old.targets)
    if hidden_result:
        new.argument_attributes[0] = old.argument_attributes[0]
    new.metadata = {k: v for k, v in old.metadata.items() if k == "dbg"}
    new.debug_records = old.debug_records
    put_instead(old, new)
    return new
