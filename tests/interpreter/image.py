"""Globals in memory, and the values of constants.

A global is laid out and initialised when its address is first asked for. Functions and block addresses are
allocations without bytes: an address identifies them, loads and stores fail. A variable without an initialiser gets
unwritten memory of its size.
"""

from __future__ import annotations

import re
from typing import Any

from interpreter import scalar
from interpreter.floats import format_of
from interpreter.memory import Codecs, Memory
from interpreter.undefined import POISON
from llgrad.errors import UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType
from llgrad.ir.types import scalar as element_of
from llgrad.ir.values import (
    Alias,
    AnyConstant,
    BlockAddress,
    ConstAggregate,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstNull,
    ConstZero,
    Function,
    GlobalValue,
    GlobalVariable,
    InlineAsm,
    MetadataValue,
    RawConstant,
    Undef,
)

ADDRESS = (1 << 64) - 1
_ZEROED = ("__libc_single_threaded",)  # variables of the C library that programs read: zero is an answer they allow


def filled(t: Type, leaf: Any) -> Any:
    """A value of type `t` with `leaf(scalar type)` for each scalar."""
    match t:
        case VectorType(element, count, False) | ArrayType(element, count):
            return (filled(element, leaf),) * count
        case StructType(fields) if fields is not None:
            return tuple(filled(f, leaf) for f in fields)
    return leaf(t)


def zero(t: Type) -> Any:
    """The zero of a type."""
    return filled(t, lambda s: format_of(s.name).decode(0) if isinstance(s, FloatType) else 0)


def poison(t: Type) -> Any:
    """A value of type `t` all scalars of which are poison."""
    return filled(t, lambda s: POISON)


class Image:
    """Where the globals of a module are, and what its constants are worth."""

    def __init__(self, module: Module, memory: Memory, codecs: Codecs) -> None:
        self.module, self.memory, self.codecs = module, memory, codecs
        self.functions: dict[int, Function] = {}  # by address
        self.blocks: dict[int, tuple[str, str]] = {}  # by address: names of function and block
        self._addresses: dict[str, int] = {}
        self._block_addresses: dict[tuple[str, str], int] = {}

    def address(self, value: GlobalValue) -> int:
        """Where a global is."""
        known = self._addresses.get(value.name)
        if known is not None:
            return known
        match value:
            case Alias(kind="ifunc"):
                raise UnsupportedError(f"the interpreter has no ifunc @{value.name}")
            case Alias():
                return self._enter(value.name, self.constant(value.aliasee))
            case Function():
                address = self._enter(value.name, self.memory.allocate(0, "function"))
                self.functions[address] = value
                return address
            case GlobalVariable():
                return self._variable(value)
        raise UnsupportedError(f"a global of an unknown sort: @{value.name}")

    def _enter(self, name: str, address: int) -> int:
        self._addresses[name] = address
        return address

    def _variable(self, value: GlobalVariable) -> int:
        codec = self.codecs(value.value_type)
        size = self.codecs.layout.alloc_size(value.value_type)
        known = value.initializer is not None or value.name in _ZEROED
        address = self._enter(value.name, self.memory.allocate(size, "global", unwritten=not known))
        if value.initializer is not None:
            codec.store(address, self.constant(value.initializer))
            self.memory.table[address >> 32].constant = value.constant
        return address

    def constant(self, c: AnyConstant) -> Any:
        """The value of a constant."""
        match c:
            case ConstInt():
                return c.value
            case ConstFloat(FloatType(name)):
                return format_of(name).decode(c.bits)
            case ConstFloat(VectorType()) | ConstInt(VectorType()):
                raise UnsupportedError(f"a splat that is not spelt out: {c}")
            case ConstNull() | ConstZero():
                return zero(c.type)
            case Undef():
                return poison(c.type)
            case ConstAggregate():
                return tuple(self.constant(e) for e in c.elements)
            case ConstExpr():
                return self._expression(c)
            case BlockAddress():
                return self._block(c.function, c.block)
            case RawConstant():
                return self._raw(c)
            case MetadataValue() | InlineAsm():
                return c.text
            case GlobalValue():
                return self.address(c)
        raise UnsupportedError(f"a constant the interpreter does not know: {c!r}")

    def _raw(self, c: RawConstant) -> Any:
        match = re.fullmatch(r'(?:dso_local_equivalent|no_cfi) @"?([^"]+)"?', c.text.strip())
        if match:
            return self.address(self.module.globals[match[1]])
        if c.text.strip() in ("none", "token none"):
            return None
        raise UnsupportedError(f"a constant the interpreter does not know: {c.text}")

    def _block(self, function: str, block: str) -> int:
        key = (function, block)
        if key not in self._block_addresses:
            self._block_addresses[key] = self.memory.allocate(0, "block")
            self.blocks[self._block_addresses[key]] = key
        return self._block_addresses[key]

    def _expression(self, c: ConstExpr) -> Any:
        values = [self.constant(o) for o in c.operands]
        types = [o.type for o in c.operands]
        match c.opcode:
            case "getelementptr":
                assert c.source_type is not None
                return Address(self, c.source_type, c.operands[1:])(*values)
            case "bitcast" if isinstance(c.type, PointerType):
                return values[0]
            case "bitcast":
                return bitcast(self.codecs, types[0], c.type)(values[0])
            case "trunc" | "ptrtoint" | "inttoptr" | "addrspacecast" | "ptrtoaddr" | "zext" | "sext":
                op = scalar.cast(c.opcode, types[0], c.type, frozenset(), self.pointer_bits)
                return scalar.lanewise(op, c.type)(values[0])
        return scalar.binary(c.opcode, c.type, frozenset())(*values)

    @property
    def pointer_bits(self) -> int:
        return 8 * self.codecs.layout.size(PointerType())


class Address:
    """`getelementptr` of a source type and types of indices; called with the pointer and the indices."""

    def __init__(self, image: Image, source: Type, indices: Any) -> None:
        self.base = 0
        self.terms: list[tuple[int, int, int]] = []  # operand number, bytes, bits
        layout = image.codecs.layout
        t: Type = source
        for i, index in enumerate(indices):
            kind = element_of(index.type)
            assert isinstance(kind, IntType)
            if i and isinstance(t, StructType):
                t = self._field(image, t, index)
                continue
            if i:
                assert isinstance(t, (ArrayType, VectorType))
                t = t.element
            if isinstance(index, ConstInt):
                self.base += index.signed * layout.alloc_size(t)
            else:
                self.terms.append((i + 1, layout.alloc_size(t), kind.bits))

    def _field(self, image: Image, t: StructType, index: Any) -> Type:
        value = image.constant(index)
        number = value[0] if isinstance(value, tuple) else value
        self.base += image.codecs.layout.offsets(t)[number]
        assert t.fields is not None
        return t.fields[number]

    def __call__(self, *operands: Any) -> Any:
        width = next((len(o) for o in operands if o.__class__ is tuple), 0)
        if width:
            lanes = zip(*[o if o.__class__ is tuple else (o,) * width for o in operands], strict=True)
            return tuple(self._scalar(lane) for lane in lanes)
        return self._scalar(operands)

    def _scalar(self, operands: Any) -> Any:
        address = operands[0] + self.base
        for i, size, bits in self.terms:
            half = 1 << (bits - 1)
            address = address + ((operands[i] ^ half) - half) * size
        return address & ADDRESS


def bitcast(codecs: Codecs, source: Type, target: Type) -> Any:
    """`bitcast`: what a load of the target type sees after a store of the source type."""
    if source == target or (isinstance(source, PointerType) and isinstance(target, PointerType)):
        return lambda a: a
    store, load = codecs(source).store, codecs(target).load
    scratch = codecs.memory.allocate(max(codecs(source).size, codecs(target).size), "scratch")

    def convert(a: Any) -> Any:
        store(scratch, a)
        return load(scratch)

    return convert
