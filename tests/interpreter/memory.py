"""The address space: byte-exact little-endian memory with a shadow for each byte.

An address is `number of the allocation << 32 | offset`, so that no two allocations are near each other and every
access out of bounds or after a free is seen. Allocations are aligned to everything. The shadow of a byte is None
(plain data), a `Fragment` of an active float, `UNWRITTEN` or `MANGLED`; an allocation has no shadow list while all
its bytes are plain.

`Codec`s load and store the values of a type: ints and addresses as ints (or `Bits`), floats as carriers (or
`Dual`s), vectors and aggregates as tuples. Storing an aggregate leaves its padding alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from interpreter.floats import Dual, Fragment, format_of
from interpreter.undefined import POISON, UNWRITTEN, Bits, PoisonError, Shadow, bits_of
from llgrad.errors import ForeignError, UnsupportedError
from llgrad.ir.types import ArrayType, DataLayout, FloatType, IntType, PointerType, StructType, Type, VectorType

OFFSET = (1 << 32) - 1
_PLAIN = [[None] * n for n in range(17)]


class Allocation:
    """`data` and its `shadow`; `kind` is what the program made it with; writes to `constant` ones are errors."""

    __slots__ = ("address", "data", "shadow", "kind", "constant")

    def __init__(self, address: int, size: int, kind: str, unwritten: bool) -> None:
        self.address, self.kind, self.constant = address, kind, False
        self.data = bytearray(size)
        self.shadow: list[Shadow] | None = [UNWRITTEN] * size if unwritten else None


class Memory:
    """All allocations. `uninitialised` says what reading unwritten bytes gives: "poison", "error" or "zero"."""

    def __init__(self, uninitialised: str = "poison") -> None:
        self.table: dict[int, Allocation] = {}
        self._next = 1
        self.uninitialised = uninitialised

    def allocate(self, size: int, kind: str = "heap", unwritten: bool = True) -> int:
        """The address of `size` new bytes."""
        if not 0 <= size < 1 << 31:
            raise ForeignError(f"an allocation of {size} bytes")
        number = self._next
        self._next += 1
        self.table[number] = Allocation(number << 32, size, kind, unwritten and self.uninitialised != "zero")
        return number << 32

    def free(self, address: int, kind: str = "heap") -> None:
        """End an allocation of this kind; `address` must be its first byte."""
        allocation, offset = self.locate(address, 0)
        if offset or allocation.kind != kind:
            raise ForeignError(f"freed an address that is no {kind} allocation", cause=self.describe(address))
        del self.table[address >> 32]

    def locate(self, address: int, size: int) -> tuple[Allocation, int]:
        """The allocation that holds `size` bytes from `address`, and the offset there."""
        try:
            allocation = self.table[address >> 32]
        except (KeyError, PoisonError):
            raise self._lost(address) from None
        offset = address & OFFSET
        if offset + size > len(allocation.data):
            raise ForeignError(f"an access of {size} bytes out of bounds", cause=self.describe(address))
        return allocation, offset

    def _lost(self, address: Any) -> ForeignError:
        if address is POISON:
            return PoisonError("an access through a poison or uninitialised pointer")
        return ForeignError("an access to memory that is not there", cause=self.describe(address))

    def describe(self, address: int) -> str:
        """What an address is, for messages."""
        number, offset = address >> 32, address & OFFSET
        if number == 0:
            return f"the address {hex(offset)} is in the null page"
        if number in self.table:
            allocation = self.table[number]
            return f"offset {offset} of a {allocation.kind} allocation of {len(allocation.data)} bytes"
        if number < self._next:
            return f"offset {offset} of an allocation that was freed or whose function returned (use after free)"
        return f"{hex(address)} was never allocated"

    # --- bytes -------------------------------------------------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes:
        """Bytes, whatever their shadow."""
        allocation, o = self.locate(address, size)
        return bytes(allocation.data[o : o + size])

    def write(self, address: int, data: bytes, shadow: list[Shadow] | None = None) -> None:
        """Write bytes with their shadow (None: plain)."""
        allocation, o = self.writable(address, len(data))
        allocation.data[o : o + len(data)] = data
        self._shade(allocation, o, len(data), shadow)

    def writable(self, address: int, size: int) -> tuple[Allocation, int]:
        """`locate`, for writing."""
        found = self.locate(address, size)
        if found[0].constant:
            raise ForeignError("a write to constant memory", cause=self.describe(address))
        return found

    @staticmethod
    def _shade(allocation: Allocation, o: int, size: int, shadow: list[Shadow] | None) -> None:
        if shadow is None and allocation.shadow is None:
            return
        if allocation.shadow is None:
            allocation.shadow = [None] * len(allocation.data)
        allocation.shadow[o : o + size] = [None] * size if shadow is None else shadow

    def shadow(self, address: int, size: int) -> list[Shadow] | None:
        """The shadow of these bytes, None when all are plain."""
        allocation, o = self.locate(address, size)
        return None if allocation.shadow is None else allocation.shadow[o : o + size]

    def copy(self, target: int, source: int, size: int) -> None:
        """memmove: bytes and their shadow."""
        if size:
            self.write(target, self.read(source, size), self.shadow(source, size))

    def fill(self, address: int, value: Any, size: int) -> None:
        """memset; `value` may be poison."""
        if not size:
            return
        if value.__class__ is Bits:
            raise UnsupportedError("memset with a byte of an active float")
        unwritten = value is POISON
        self.write(address, bytes([0 if unwritten else value & 255]) * size, [UNWRITTEN] * size if unwritten else None)

    def forget(self, address: int, size: int | None = None) -> None:
        """Make bytes unwritten: to the end of the allocation when `size` is None."""
        if self.uninitialised == "zero":
            return
        allocation, o = self.locate(address, size or 0)
        size = len(allocation.data) - o if size is None else size
        self._shade(allocation, o, size, [UNWRITTEN] * size)

    def string(self, address: int) -> bytes:
        """The bytes up to the next NUL."""
        allocation, o = self.locate(address, 1)
        end = allocation.data.find(0, o)
        if end < 0:
            raise ForeignError("a string without an end", cause=self.describe(address))
        return bytes(allocation.data[o:end])

    def unwritten(self) -> Any:
        """What a read of unwritten bytes gives."""
        if self.uninitialised == "error":
            raise ForeignError("a read of uninitialised memory")
        return POISON


# --- codecs ----------------------------------------------------------------------------------------------------------

Loader = Callable[[int], Any]
Storer = Callable[[int, Any], None]


class Codec(Struct, frozen=True):
    """How values of one type are loaded from and stored to an address."""

    size: int
    load: Loader
    store: Storer


class Codecs:
    """The codecs of one memory and layout, made when first asked for."""

    def __init__(self, memory: Memory, layout: DataLayout) -> None:
        self.memory, self.layout = memory, layout
        self._made: dict[Type, Codec] = {}

    def __call__(self, t: Type) -> Codec:
        if t not in self._made:
            self._made[t] = self._make(t)
        return self._made[t]

    def _make(self, t: Type) -> Codec:
        match t:
            case IntType(bits):
                return integer_codec(self.memory, self.layout.size(t), bits)
            case PointerType():
                return integer_codec(self.memory, self.layout.size(t), 8 * self.layout.size(t))
            case FloatType("float" | "double"):
                return native_codec(self.memory, t.name)
            case FloatType():
                return float_codec(self.memory, t.name)
            case VectorType(element, count, False):
                return self._vector(element, count)
            case ArrayType() | StructType(tuple()):
                return self._tuple(self.layout.size(t), [(self(x), o) for o, x in self.layout.members(t)])
        raise UnsupportedError(f"the interpreter has no values of type {t}")

    def _vector(self, element: Type, count: int) -> Codec:
        bits = element.bits if isinstance(element, (IntType, FloatType)) else 8 * self.layout.size(element)
        if bits % 8:
            return packed_codec(self(IntType(bits * count)), bits, count)
        return self._tuple(count * bits // 8, [(self(element), i * bits // 8) for i in range(count)])

    def _tuple(self, size: int, parts: list[tuple[Codec, int]]) -> Codec:
        loads = [(c.load, o) for c, o in parts]
        stores = [(c.store, o) for c, o in parts]

        def load(address: int) -> Any:
            return tuple([f(address + o) for f, o in loads])

        def store(address: int, values: Any) -> None:
            for (f, o), value in zip(stores, values, strict=True):
                f(address + o, value)

        return Codec(size, load, store)


def packed_codec(whole: Codec, bits: int, count: int) -> Codec:
    """Vectors of integers that are no whole bytes: packed, element 0 lowest."""
    mask = (1 << bits) - 1

    def load(address: int) -> Any:
        value = whole.load(address)
        return tuple([(value >> (bits * i)) & mask for i in range(count)])

    def store(address: int, values: Any) -> None:
        value = 0
        for i, v in enumerate(values):
            value = value | v << (bits * i)
        whole.store(address, value)

    return Codec(whole.size, load, store)


def integer_codec(memory: Memory, size: int, bits: int) -> Codec:
    """iN and pointers."""
    mask = (1 << bits) - 1
    locate = memory.locate
    from_bytes = int.from_bytes
    plain: list[Shadow] = [None] * size

    def load(address: int) -> Any:
        allocation, o = locate(address, size)
        value = from_bytes(allocation.data[o : o + size], "little") & mask
        if allocation.shadow is not None:
            shadow = allocation.shadow[o : o + size]
            if shadow != plain:
                result = bits_of(value, shadow, size)
                return memory.unwritten() if result is POISON else result
        return value

    def store(address: int, value: Any) -> None:
        allocation, o = memory.writable(address, size)
        if value.__class__ is int or value.__class__ is bool:
            allocation.data[o : o + size] = value.to_bytes(size, "little")
            if allocation.shadow is not None:
                allocation.shadow[o : o + size] = plain
        elif value is POISON:
            memory.forget(address, size)
        else:
            memory.write(address, value.plain().to_bytes(size, "little"), (value.shadow + plain)[:size])

    return Codec(size, load, store)


def _shaded(memory: Memory, shadow: list[Shadow], name: str) -> Any:
    """The value of a float some bytes of which are not plain data."""
    first = shadow[0]
    if first.__class__ is Fragment and first.dual.format.name == name and first.dual.fragments == shadow:
        return first.dual
    if all(s is None or s is UNWRITTEN for s in shadow):
        return memory.unwritten()
    raise UnsupportedError(
        f"a {name} is read from memory that holds pieces of other active floats",
        cause="the bytes of an active float were overwritten in part, mixed, or read in another format",
    )


def native_codec(memory: Memory, name: str) -> Codec:
    """float and double."""
    codec = struct.Struct("<d" if name == "double" else "<f")
    size, locate, unpack, pack = codec.size, memory.locate, codec.unpack_from, codec.pack_into
    plain: list[Shadow] = _PLAIN[size]

    def load(address: int) -> Any:
        allocation, o = locate(address, size)
        if allocation.shadow is not None:
            shadow = allocation.shadow[o : o + size]
            if shadow != plain:
                return _shaded(memory, shadow, name)
        return unpack(allocation.data, o)[0]

    def store(address: int, value: Any) -> None:
        allocation, o = memory.writable(address, size)
        if value.__class__ is float:
            pack(allocation.data, o, value)
            if allocation.shadow is not None:
                allocation.shadow[o : o + size] = plain
        else:
            _store_shaded(memory, address, value, size)

    return Codec(size, load, store)


def float_codec(memory: Memory, name: str) -> Codec:
    """The other formats."""
    format = format_of(name)
    size, plain = format.size, _PLAIN[format.size]

    def load(address: int) -> Any:
        shadow = memory.shadow(address, size)
        if shadow is not None and shadow != plain:
            return _shaded(memory, shadow, name)
        return format.decode(int.from_bytes(memory.read(address, size), "little"))

    def store(address: int, value: Any) -> None:
        if value.__class__ is Dual or value is POISON:
            _store_shaded(memory, address, value, size)
        else:
            memory.write(address, format.encode(value).to_bytes(size, "little"))

    return Codec(size, load, store)


def _store_shaded(memory: Memory, address: int, value: Any, size: int) -> None:
    if value is POISON:
        memory.writable(address, size)
        memory.forget(address, size)
    elif value.__class__ is Dual:
        memory.write(address, value.format.encode(value.value).to_bytes(size, "little"), value.fragments)
    else:
        raise TypeError(f"not a float: {value!r}")


