"""From one value a parameter to the IR arguments that carry it: slices, descriptors, extents and strides.

`spread` gives what an entry takes; `spread_shadows` the same for a derivative, where the address of data is followed by
those of its shadows. A shadow has the shape and the strides of its array (`zeros`, `shaped`), for strides are passed
once and hold for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from llgrad.autodiff.requests.request import Act
from llgrad.errors import ArgumentError
from llgrad.signature import CType, Opaque, Parameter, Pointer, Scalar, Signature, View

_PLAIN = ("data",)
ARRAY = ("items", "itemsize", "data")  # Numba's arrays: extents and strides in bytes follow
ADDRESSES = ("data", "descriptor")  # the parts that have a shadow


def parts(t: CType) -> tuple[str, ...]:
    """What each IR argument of a parameter of this type holds."""
    return t.parts if isinstance(t, View) else _PLAIN


def spread(signature: Signature, values: Sequence[Any]) -> list[Any]:
    """One value for each IR argument."""
    pairs = zip(signature.parameters, values, strict=True)
    return [v for p, value in pairs for v in pieces(p, value)]


def spread_acts(signature: Signature, acts: Sequence[Act]) -> tuple[Act, ...]:
    """One act for each IR argument: only addresses have shadows."""
    pairs = zip(signature.parameters, acts, strict=True)
    return tuple(act if part in ADDRESSES else Act.CONST for p, act in pairs for part in parts(p.type))


def spread_shadows(
    signature: Signature, values: Sequence[Any], acts: Sequence[Act], lanes: Sequence[Sequence[Any]]
) -> list[Any]:
    """One value for each IR argument of a derivative, then its shadows; `lanes` hold one for each parameter."""
    passed: list[Any] = []
    for k, (p, value, act) in enumerate(zip(signature.parameters, values, acts, strict=True)):
        if isinstance(p.type, View) and p.type.parts[:3] == ARRAY and isinstance(value, np.ndarray):
            passed += (value.size, value.itemsize, value)
            if act is Act.DUP:
                passed += [shadows[k] for shadows in lanes]
            passed += (*value.shape, *value.strides)
            continue
        beside = [pieces(p, shadows[k]) for shadows in lanes] if act is Act.DUP else []
        for n, (part, v) in enumerate(zip(parts(p.type), pieces(p, value), strict=True)):
            passed += [v, *(shadow[n] for shadow in beside)] if part in ADDRESSES else [v]
    return passed


def pieces(p: Parameter, value: Any) -> list[Any]:
    """One value for each IR argument of one parameter."""
    names = parts(p.type)
    if names == _PLAIN:
        return [value]
    if not isinstance(value, np.ndarray):
        raise ArgumentError(
            f"argument {p.name!r} must be a NumPy array, not {type(value).__name__}", cause=f"it is declared {p.type}"
        )
    return [_part(p, value, name) for name in names]


def _part(p: Parameter, array: np.ndarray[Any, Any], part: str) -> Any:
    kind, _, axis = part.partition(".")
    match kind:
        case "data":
            return array
        case "length":
            return _count(p.type, array)
        case "items":
            return array.size
        case "itemsize":
            return array.itemsize
        case "null":
            return None
        case "zero":
            return 0
        case "shape":
            return array.shape[int(axis)]
        case "bytes":
            return array.strides[int(axis)]
        case "stride":
            return _whole(p, array.strides[int(axis)], array.itemsize)
    return Descriptor(array)


def _count(t: CType, array: np.ndarray[Any, Any]) -> int:
    """How many of what a slice is of lie in an array: numbers, or arrays and structs."""
    to = t.to if isinstance(t, Pointer) else t
    return array.size if isinstance(to, Scalar) or not to.size else array.nbytes // to.size


def _whole(p: Parameter, stride: int, size: int) -> int:
    if stride % size:
        raise ArgumentError(f"argument {p.name!r} has a stride that is no whole number of elements", fix="pass a copy")
    return stride // size


# --- shadows ---------------------------------------------------------------------------------------------------------


def zeros(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Zeros of the same shape and strides, in memory of their own."""
    if array.flags.c_contiguous:
        return np.zeros(array.shape, array.dtype)
    _require_apart(array)
    return laid(array)


def laid(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Memory of zeros that is read by the strides of an array, whatever these are."""
    low = sum(min(0, s * (n - 1)) for s, n in zip(array.strides, array.shape, strict=True) if n)
    high = sum(max(0, s * (n - 1)) for s, n in zip(array.strides, array.shape, strict=True) if n)
    raw = np.zeros(high - low + array.itemsize, np.uint8)
    return np.ndarray(array.shape, array.dtype, raw, -low, array.strides)


def _require_apart(array: np.ndarray[Any, Any]) -> None:
    """ArgumentError where elements share memory (`np.broadcast_to`, windows): their derivatives would, too."""
    reach = array.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True)):
        if n > 1 and stride < reach and array.size:
            raise ArgumentError(
                f"elements of an array of shape {array.shape} and strides {array.strides} share memory",
                cause="each element has a derivative of its own", fix="pass a copy: np.array(…)",
            )  # fmt: skip
        reach += stride * (n - 1) if n > 1 else 0


def shaped(array: np.ndarray[Any, Any], contents: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`contents` in new memory with the strides of `array`."""
    made = zeros(array)
    made[...] = contents
    return made


class Strided:
    """An array as it is sent whose strides, which the code is told, pickling would not keep."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.contents, self.strides = np.ascontiguousarray(array), array.strides
        self.writeable = array.flags.writeable

    def laid(self) -> np.ndarray[Any, Any]:
        """The array, in memory of its own."""
        shape, dtype = self.contents.shape, self.contents.dtype
        like = np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, self.strides)  # (never looked into)
        made = laid(like)
        made[...] = self.contents
        made.flags.writeable = self.writeable
        return made


# --- pointers to pointers ---------------------------------------------------------------------------------------------


class Table:
    """Addresses of arrays, as a pointer to pointers finds them in memory; the arrays live as long.

    A row is what a pointer of one level less gets: an array, None, or another table. With `stacked`, the rows are those
    of one array, and so is what the user gets back.
    """

    def __init__(self, rows: Sequence[Any], stacked: bool) -> None:
        self.rows, self.stacked = tuple(rows), stacked
        self.words = np.array([0 if r is None else r.__array_interface__["data"][0] for r in rows], np.uint64)

    def each(self, make: Callable[[Any], Any]) -> Table:
        """A table of what `make` makes of each array."""
        rows = [r.each(make) if isinstance(r, Table) else r if r is None else make(r) for r in self.rows]
        return Table(rows, self.stacked)

    def contents(self) -> Any:
        """The rows as the user gets them."""
        rows = [r.contents() if isinstance(r, Table) else r for r in self.rows]
        return np.array(rows) if self.stacked else rows

    @property
    def nbytes(self) -> int:
        """Bytes of the addresses themselves."""
        return self.words.nbytes

    @property
    def __array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = self.words.__array_interface__
        return found


# --- Fortran ---------------------------------------------------------------------------------------------------------

_VERSION = 20240719
_TYPES = {"f4": 27, "f8": 28, "f16": 29, "c8": 34, "c16": 35, "c32": 36, "i1": 7, "i2": 8, "i4": 9, "i8": 10, "b1": 39}


class Descriptor:
    """The address of a `CFI_cdesc_t` (ISO_Fortran_binding.h) for an array of any strides; the array lives as long."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self._words = np.fromiter(_words(array), np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of the descriptor."""
        return self._words.nbytes

    @property
    def __array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = self._words.__array_interface__
        return found


def _words(array: np.ndarray[Any, Any]) -> Iterator[int]:
    kind = _TYPES.get(array.dtype.str[1:], -1 & 0xFF)
    yield array.__array_interface__["data"][0]
    yield array.itemsize
    yield _VERSION | array.ndim << 32 | kind << 40
    for extent, stride in zip(array.shape, array.strides, strict=True):
        yield from (1, extent, stride)


def is_scalar(t: CType) -> bool:
    """Is this one value passed by reference, for which a number does?"""
    return isinstance(t, View) and t.scalar


def is_code(t: CType) -> bool:
    """Is it a pointer to functions?"""
    return isinstance(t, Pointer) and isinstance(t.to, Opaque) and t.to.name == "function"


def addresses_of_other_memory(signature: Signature) -> bool:
    """Does any parameter pass memory that itself holds addresses made here (which mean nothing elsewhere)?"""
    pointers = [p.type for p in signature.parameters if isinstance(p.type, Pointer)]
    return any(t.innermost is not t or "descriptor" in parts(t) or is_code(t) for t in pointers)
