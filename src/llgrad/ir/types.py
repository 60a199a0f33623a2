"""LLVM's types as frozen values, compared by value (LangRef: Type System).

Pointers are opaque, so no type is recursive: a named struct carries its body and compares by name and body.
`str(type)` is LLVM assembly. Sizes and alignments need a `DataLayout`; of opaque structs, scalable vectors,
target types and what is no data they are not known (`UnsizedError`, `DataLayout.known_size`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from msgspec import Struct

from llgrad.errors import UnsupportedError


class Type(Struct, frozen=True):
    """Base of all types."""


class SimpleType(Type, frozen=True):
    """`void`, `label`, `metadata`, `token`, `x86_amx`."""

    name: str

    def __str__(self) -> str:
        return self.name


class IntType(Type, frozen=True):
    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


class FloatType(Type, frozen=True):
    """`half`, `bfloat`, `float`, `double`, `x86_fp80`, `fp128`, `ppc_fp128`."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def bits(self) -> int:
        return FLOAT_BITS[self.name]


class PointerType(Type, frozen=True):
    addrspace: int = 0

    def __str__(self) -> str:
        return f"ptr addrspace({self.addrspace})" if self.addrspace else "ptr"


class VectorType(Type, frozen=True):
    element: Type
    count: int
    scalable: bool = False

    def __str__(self) -> str:
        return f"<{'vscale x ' if self.scalable else ''}{self.count} x {self.element}>"


class ArrayType(Type, frozen=True):
    element: Type
    count: int

    def __str__(self) -> str:
        return f"[{self.count} x {self.element}]"


class StructType(Type, frozen=True):
    """`fields` is None for an opaque struct; `name` is as written in assembly, with the `%`."""

    fields: tuple[Type, ...] | None
    packed: bool = False
    name: str | None = None

    def __str__(self) -> str:
        return self.name or self.body()

    def body(self) -> str:
        if self.fields is None:
            return "opaque"
        inner = f"{{ {', '.join(map(str, self.fields))} }}" if self.fields else "{}"
        return f"<{inner}>" if self.packed else inner


class FunctionType(Type, frozen=True):
    result: Type
    params: tuple[Type, ...]
    vararg: bool = False

    def __str__(self) -> str:
        params = [*map(str, self.params), *(["..."] if self.vararg else [])]
        return f"{self.result} ({', '.join(params)})"


class TargetType(Type, frozen=True):
    """`target("name", types…, integers…)`."""

    name: str
    params: tuple[Type | int, ...] = ()

    def __str__(self) -> str:
        return f"target({', '.join([chr(34) + self.name + chr(34), *map(str, self.params)])})"


FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 80, "fp128": 128, "ppc_fp128": 128}

VOID, LABEL, METADATA, TOKEN = (SimpleType(n) for n in ("void", "label", "metadata", "token"))
I1, I8, I16, I32, I64, I128 = (IntType(n) for n in (1, 8, 16, 32, 64, 128))
HALF, BFLOAT, FLOAT, DOUBLE, X86_FP80, FP128 = (
    FloatType(n) for n in ("half", "bfloat", "float", "double", "x86_fp80", "fp128")
)
PTR = PointerType()

SIMPLE_TYPES: dict[str, Type] = {
    str(t): t
    for t in (
        *(VOID, LABEL, METADATA, TOKEN, SimpleType("x86_amx"), PTR),
        *(FloatType(n) for n in FLOAT_BITS),
        *(I1, I8, I16, I32, I64, I128),
    )
}


def is_float(t: Type) -> bool:
    """Is `t` a floating-point scalar, or a vector of them?"""
    return isinstance(t, FloatType) or (isinstance(t, VectorType) and isinstance(t.element, FloatType))


def dotted(t: Type) -> str:
    """The type as part of a name: `4.x.float` for `<4 x float>`."""
    return ".".join("".join(c if c.isalnum() else " " for c in str(t)).split())


def scalar(t: Type) -> Type:
    """The element type of a vector, `t` itself otherwise."""
    return t.element if isinstance(t, VectorType) else t


class DataLayout:
    """Sizes, alignments and offsets in bytes, from a module's `target datalayout` (x86-64 and AArch64 rules)."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._int_abi = {1: 1, 8: 1, 16: 2, 32: 4, 64: 8, 128: 16 if "i128:128" in text else 8}
        self._pointer = 4 if "-p:32" in text else 8

    @cache  # noqa: B019 - one layout per module, as long-lived as the module
    def size(self, t: Type) -> int:
        """Bytes a store of `t` writes (LLVM's store size)."""
        match t:
            case IntType(bits):
                return (bits + 7) // 8
            case FloatType():
                return (t.bits + 7) // 8
            case PointerType():
                return self._pointer
            case VectorType(element, count, False):
                bits = element.bits if isinstance(element, (IntType, FloatType)) else 8 * self._pointer
                return (bits * count + 7) // 8
            case ArrayType(element, count):
                return self.alloc_size(element) * count
            case StructType(fields) if fields is not None:
                return self._struct(t)[1]
        raise _unsized(t)

    @cache  # noqa: B019
    def align(self, t: Type) -> int:
        """ABI alignment of `t` in bytes."""
        match t:
            case IntType(bits):
                return next((a for b, a in self._int_abi.items() if bits <= b), self._int_abi[128])
            case FloatType():
                return 16 if t.bits >= 80 else t.bits // 8
            case PointerType():
                return self._pointer
            case VectorType():
                return 1 << max(self.size(t) - 1, 0).bit_length()
            case ArrayType(element):
                return self.align(element)
            case StructType(fields, packed):
                return 1 if packed or not fields else max(self.align(f) for f in fields)
        raise _unsized(t)

    def alloc_size(self, t: Type) -> int:
        """Bytes from one array element of `t` to the next."""
        return _round_up(self.size(t), self.align(t))

    @cache  # noqa: B019
    def known_size(self, t: Type) -> int | None:
        """`alloc_size`, or None of a type whose size is not known when it is compiled."""
        return self.alloc_size(t) if self.is_sized(t) else None

    def is_sized(self, t: Type) -> bool:
        """Has every value of the type the same size, which is known? Not those of incomplete types."""
        match t:
            case VectorType(element, _, scalable):
                return not scalable and isinstance(element, IntType | FloatType | PointerType)
            case ArrayType(element):
                return self.is_sized(element)
            case StructType(fields):
                return fields is not None and all(map(self.is_sized, fields))
        return isinstance(t, IntType | FloatType | PointerType)

    def offsets(self, t: StructType) -> tuple[int, ...]:
        """Byte offset of each field."""
        return self._struct(t)[0]

    def members(self, t: Type) -> Iterator[tuple[int, Type]]:
        """The members of a struct, an array or a vector, and the bytes where they begin; of other types none."""
        match t:
            case StructType(fields) if fields is not None:
                yield from zip(self.offsets(t), fields, strict=True)
            case ArrayType(element, count) | VectorType(element, count):
                step = self.alloc_size(element) if isinstance(t, ArrayType) else self.size(element)
                yield from ((n * step, element) for n in range(count))

    def leaves(
        self, t: Type, at: int = 0, *, lanes: bool = False, most: int | None = None
    ) -> Iterator[tuple[int, Type]]:
        """The scalars and vectors in what begins at a byte, and the bytes where they begin.

        `lanes`: vectors are taken apart, too. `most`: of each array, so many elements are looked at.
        """
        match t:
            case StructType(tuple()) | ArrayType() | VectorType() if lanes or not isinstance(t, VectorType):
                inside = self.members(t)
                for offset, member in islice(inside, most) if isinstance(t, ArrayType) else inside:
                    yield from self.leaves(member, at + offset, lanes=lanes, most=most)
            case _:
                yield at, t

    def offset(self, t: Type, indices: Sequence[int]) -> int:
        """The byte at which a member of a member, and so on, begins."""
        total = 0
        for n in indices:
            at, t = next(islice(self.members(t), n, None))
            total += at
        return total

    @cache  # noqa: B019
    def _struct(self, t: StructType) -> tuple[tuple[int, ...], int]:
        offset, offsets = 0, []
        for f in t.fields or ():
            offset = offset if t.packed else _round_up(offset, self.align(f))
            offsets.append(offset)
            offset += self.alloc_size(f)
        return tuple(offsets), _round_up(offset, self.align(t))


class UnsizedError(UnsupportedError):
    """The size of a type is asked for that is not known: `type`."""

    type: Type = SimpleType("void")


def _unsized(t: Type) -> UnsizedError:
    error = UnsizedError(
        f"the size of the type {t} is not known when it is compiled",
        cause="a derivative lays out shadows, and what it keeps, by the sizes of what the function works on",
        fix="keep values of this type out of what is differentiated, or mark what works on them as inactive",
    )
    error.type = t
    return error


def _round_up(n: int, align: int) -> int:
    return -(-n // align) * align
