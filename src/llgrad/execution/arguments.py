"""Python values for C parameters: what a signature states is checked here, before foreign code runs.

A `Checker` is made once a function. `values(args)` gives what `entry.Code.call` takes: numbers, arrays, addresses.
A pointer to pointers takes a list of arrays. Errors are ArgumentError with cause and fix: wrong count, dtype, byte
order, layout, alignment, read-only memory behind a pointer that is not const, integers out of range, sizes that the
signature states (`double (*x)[3]`). NaN and empty arrays pass.
"""

from __future__ import annotations

import ctypes
import difflib
import math
import sys
from _ctypes import CFuncPtr
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from msgspec.structs import replace

from llgrad.errors import ArgumentError, UnsupportedError
from llgrad.execution.entry import address_of
from llgrad.execution.mpi import handle_of, is_handle
from llgrad.execution.passing import Table, is_code
from llgrad.signature import Array, Complex, CType, Opaque, Parameter, Pointer, Scalar, Signature, Struct, View


class Checker:
    """Checks and converts the arguments of one function."""

    def __init__(self, signature: Signature, constants: Mapping[str, int | float] | None = None) -> None:
        """`constants`: numbers that the function was made for."""
        self.signature, self.constants = signature, constants or {}
        self.names = [p.name for p in signature.parameters]
        self._fit = [_usual(p.type) for p in signature.parameters]
        self._numbers = {p.name: made for p in signature.parameters if (made := _usual_number(p.type))}
        self.restricts = any(isinstance(p.type, Pointer) and p.type.restrict for p in signature.parameters)

    def values(self, args: Sequence[Any], named: dict[str, Any] | None = None) -> list[Any]:
        """One value a parameter."""
        if named:
            args = self._positional(args, named)
        if len(args) != len(self.names):
            raise ArgumentError(
                f"{self.signature.name} takes {len(self.names)} arguments, not {len(args)}",
                cause=f"its signature is {self.signature}",
                fix="pass one argument for each parameter, in this order",
            )
        usual = zip(self._fit, self.signature.parameters, args, strict=True)
        values = [a if fits(a) else self.value(p, a) for fits, p, a in usual]
        if self.constants:
            self._require_constants(values)
        return values

    def value(self, parameter: Parameter, given: Any) -> Any:
        """The value for one parameter."""
        if is_handle(given):
            given = handle_of(given)
        usual = self._numbers.get(parameter.name)
        if usual is not None and (made := usual(given)) is not None:
            return made
        match parameter.type:
            case Pointer() as pointer:
                return self._pointer(parameter, pointer, given)
            case Scalar(kind="float"):
                return self._float(parameter, given)
            case Scalar() as scalar:
                return self._integer(parameter, scalar, given)
        raise UnsupportedError(
            f"{self._where(parameter)} of type {parameter.type} cannot be passed from Python",
            fix="write a wrapper in C that takes pointers and scalars",
        )

    def _require_constants(self, values: Sequence[Any]) -> None:
        for p, value in zip(self.signature.parameters, values, strict=True):
            if p.name in self.constants and not _same(value, self.constants[p.name]):
                raise ArgumentError(
                    f"{self._where(p)} is {value}, but the function was specialised to {self.constants[p.name]}",
                    fix=f"pass {self.constants[p.name]}, or specialise anew",
                )

    def _positional(self, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        rest = self.names[len(args) :]
        unknown = [n for n in named if n not in rest]
        missing = [n for n in rest if n not in named]
        if unknown or missing:
            what = [f"no free parameter {', '.join(unknown)}"] if unknown else []
            what += [f"no argument for {', '.join(missing)}"] if missing else []
            near = [m for n in unknown for m in difflib.get_close_matches(n, rest, n=1)]
            raise ArgumentError(
                f"{self.signature.name}: {' and '.join(what)}", cause=f"its signature is {self.signature}",
                fix=f"did you mean {', '.join(near)}?" if near else "",
            )  # fmt: skip
        return [*args, *(named[n] for n in rest)]

    def _where(self, parameter: Parameter) -> str:
        return f"argument {parameter.name!r} of {self.signature.name}"

    # --- scalars

    def _float(self, parameter: Parameter, given: Any) -> Any:
        if isinstance(given, int) and abs(given) > sys.float_info.max:
            raise ArgumentError(f"{self._where(parameter)} is larger than any float", fix="pass a Python float")
        if isinstance(given, float | int | np.floating | np.integer) and not isinstance(given, np.bool_):
            return given
        if isinstance(given, np.ndarray) and given.ndim == 0 and given.dtype.kind in "fiu":
            return given[()]
        raise ArgumentError(
            f"{self._where(parameter)} must be a number, not {_described(given)}",
            cause=f"it is declared {parameter.type.declare(parameter.name)}",
            fix="pass a Python float; for arrays the parameter would have to be a pointer",
        )

    def _integer(self, parameter: Parameter, scalar: Scalar, given: Any) -> int:
        if isinstance(given, np.ndarray) and given.ndim == 0 and given.dtype.kind in "iub":
            given = given[()]
        if not isinstance(given, int | np.integer | np.bool_):
            raise ArgumentError(
                f"{self._where(parameter)} must be an integer, not {_described(given)}",
                cause=f"it is declared {parameter.type.declare(parameter.name)}",
                fix="convert it with int(…)",
            )
        value = int(given)
        low, high = (0, 1) if scalar.kind == "bool" else integer_range(scalar)
        if not low <= value <= high:
            raise ArgumentError(
                f"{self._where(parameter)} is {value}, out of range",
                cause=f"{scalar} holds {low} to {high}",
                fix="pass a value in this range",
            )
        return value

    # --- pointers

    def _pointer(self, parameter: Parameter, pointer: Pointer, given: Any) -> Any:
        view = pointer if isinstance(pointer, View) else None
        if given is None and not (view and view.spelling.startswith("&")):  # (a reference of Rust's is never null)
            return None
        if view and view.scalar and isinstance(given, int | float | np.number | np.bool_):
            return self._by_reference(parameter, view, given)
        given = given.encode() if isinstance(given, str) else given
        if isinstance(given, bytes) and pointer.const and pointer.to.size in (0, 1):
            return np.frombuffer(given + b"\0", np.uint8)
        if isinstance(given, CFuncPtr) and is_code(pointer):
            return ctypes.cast(given, ctypes.c_void_p).value or 0
        if isinstance(given, ctypes.c_void_p | int) and not isinstance(given, bool) and holds_addresses(pointer.to):
            return (given.value or 0) if isinstance(given, ctypes.c_void_p) else given
        if isinstance(pointer.to, Pointer):
            return self._table(parameter, pointer.to, given)
        if callable(given):
            raise ArgumentError(
                f"{self._where(parameter)} cannot be a Python function",
                cause=f"it is declared {pointer.declare(parameter.name)}, and compiled code calls compiled code",
                fix="wrap it: ctypes.CFUNCTYPE(result, arguments…)(function)"
                if is_code(pointer)
                else "write a function in the sources that passes the callback, and load it, too",
            )
        if not isinstance(given, np.ndarray):
            raise ArgumentError(
                f"{self._where(parameter)} must be a NumPy array, not {_described(given)}",
                cause=f"it is declared {pointer.declare(parameter.name)}",
                fix=f"pass np.array(…, dtype={_dtype_name(pointer)})",
            )
        self._dtype(parameter, pointer, given)
        self._layout(parameter, pointer, given)
        self._size(parameter, pointer.to, given)
        return given

    def _table(self, parameter: Parameter, to: Pointer, given: Any) -> Table:
        """The addresses of arrays, one for each that is given; what is a table has been checked."""
        if isinstance(given, Table):
            return given
        if not isinstance(given, list | tuple) and not (isinstance(given, np.ndarray) and given.ndim > 1):
            raise ArgumentError(
                f"{self._where(parameter)} must be a list of arrays, not {_described(given)}",
                cause=f"it is declared {parameter.type.declare(parameter.name)}",
                fix="pass a list of arrays, one for each pointer, or an array of two dimensions for its rows",
            )
        named = (replace(parameter, name=f"{parameter.name}[{k}]", type=to) for k in range(len(given)))
        rows = [self._pointer(p, to, row) for p, row in zip(named, given, strict=True)]
        return Table(rows, isinstance(given, np.ndarray))

    def _by_reference(self, parameter: Parameter, view: View, given: Any) -> Any:
        """A number in memory of its own."""
        assert isinstance(view.to, Scalar)
        if view.dtype is None:
            raise UnsupportedError(
                f"{self._where(parameter)} is a {view.to}, of which NumPy has no values",
                fix="pip install ml_dtypes" if view.to.format == "bfloat" else "pass an array of its bytes",
            )
        checked = replace(parameter, type=view.to)
        floating = view.to.kind == "float"
        value = self._float(checked, given) if floating else self._integer(checked, view.to, given)
        return np.array(value, view.dtype)

    def _dtype(self, parameter: Parameter, pointer: Pointer, given: np.ndarray[Any, Any]) -> None:
        expected = pointer.dtype
        if _is_brain_float(pointer) and (given.dtype == np.uint16 or given.dtype.name == "bfloat16"):
            return
        if expected is None and _is_brain_float(pointer):
            raise ArgumentError(
                f"{self._where(parameter)} has dtype {given.dtype}, not ml_dtypes.bfloat16",
                cause=f"it is declared {pointer.declare(parameter.name)}",
                fix="pip install ml_dtypes and pass an array of its bfloat16, or pass their bits as np.uint16",
            )
        if expected is None:
            if given.dtype.hasobject:
                raise ArgumentError(f"{self._where(parameter)} holds Python objects", fix="pass an array of numbers")
            if isinstance(element := _element(pointer), Scalar | Complex) and not _are_bytes(given):
                raise ArgumentError(
                    f"{self._where(parameter)} has dtype {given.dtype}; NumPy has none for {element}",
                    cause=f"it is declared {pointer.declare(parameter.name)}",
                    fix=f"pass an array of bytes, np.uint8, {element.size} for each",
                )
            return
        same = given.dtype == expected or (expected.itemsize == 1 and given.dtype.kind in "iuS" and given.itemsize == 1)
        if not same:
            raise ArgumentError(
                f"{self._where(parameter)} has dtype {given.dtype}, not {_dtype_name(pointer)}",
                cause=f"it is declared {pointer.declare(parameter.name)}",
                fix=f"convert it: {parameter.name}.astype({_dtype_name(pointer)})",
            )

    def _layout(self, parameter: Parameter, pointer: Pointer, given: np.ndarray[Any, Any]) -> None:
        view = pointer if isinstance(pointer, View) else None
        if view and view.rank is not None and given.ndim != view.rank:
            raise ArgumentError(
                f"{self._where(parameter)} has {given.ndim} dimensions, not {view.rank}",
                cause=f"it is declared {view.declare(parameter.name)}",
            )
        if view:
            self._fixed(parameter, view, given)
        order = view.order if view else "C"
        if order == "F" and not given.flags.f_contiguous:
            raise ArgumentError(
                f"{self._where(parameter)} is not Fortran-contiguous",
                cause="the compiled code reads it as one stretch of memory, column by column",
                fix=f"pass np.asfortranarray({parameter.name}), a copy: what is written there stays there",
            )
        if order == "C" and not given.flags.c_contiguous:
            raise ArgumentError(
                f"{self._where(parameter)} is not C-contiguous",
                cause="the compiled code reads it as one stretch of memory, row by row",
                fix=f"pass np.ascontiguousarray({parameter.name}), a copy: what is written there stays there",
            )
        if not given.flags.aligned:
            raise ArgumentError(f"{self._where(parameter)} is not aligned", fix=f"pass {parameter.name}.copy()")
        if not pointer.const and not given.flags.writeable:
            raise ArgumentError(
                f"{self._where(parameter)} is read-only",
                cause=f"it is declared {pointer.declare(parameter.name)}: the code may write to it",
                fix="pass a copy, or declare the parameter const",
            )

    def _fixed(self, parameter: Parameter, view: View, given: np.ndarray[Any, Any]) -> None:
        """Lengths, strides and bytes that the type says are there."""
        wrong = [
            f"{what} {has} along axis {n}, not {d}"
            for what, fixed, found in (("length", view.extents, given.shape), ("stride", view.steps, given.strides))
            for n, (d, has) in enumerate(zip(fixed, found, strict=False))
            if d is not None and has != (d if what == "length" else d * given.itemsize)
            and (what == "length" or given.shape[n] > 1)
        ]  # fmt: skip
        if given.nbytes < view.least:
            wrong.append(f"{given.nbytes} bytes, less than {view.least}")
        if wrong:
            raise ArgumentError(
                f"{self._where(parameter)} has {wrong[0]}", cause=f"it is declared {view.declare(parameter.name)}",
                fix="pass an array of that size and layout: np.ascontiguousarray(…) makes strides those of rows",
            )  # fmt: skip

    def _size(self, parameter: Parameter, to: CType, given: np.ndarray[Any, Any]) -> None:
        if isinstance(to, Array) and to.size and given.nbytes % to.size:
            raise ArgumentError(
                f"{self._where(parameter)} has {given.size} elements",
                cause=f"it points to {to}: whole groups of {to.size // max(given.itemsize, 1)}",
                fix=f"give it a shape that ends with {tuple(d for d in to.dims)}",
            )
        if isinstance(to, Struct) and to.dtype is None and to.size and given.nbytes % to.size:
            raise ArgumentError(
                f"{self._where(parameter)} has {given.nbytes} bytes",
                cause=f"a {to} has {to.size}",
                fix="pass a structured array, or bytes of whole structs",
            )


def _same(a: int | float, b: int | float) -> bool:
    """Is it the same number? 0.0 and -0.0 are not, and NaN is."""
    return a == b and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b)


def _usual(t: CType) -> Callable[[Any], bool]:
    """Tells of the most usual values of a parameter that nothing is wrong; others are looked at in detail."""
    if isinstance(t, Scalar) and t.kind == "float":
        return lambda given: type(given) is float
    if isinstance(t, Scalar) and t.kind in ("int", "uint"):
        low, high = integer_range(t)
        return lambda given: type(given) is int and low <= given <= high
    if type(t) is Pointer and isinstance(t.to, Scalar) and t.dtype is not None:
        dtype, array = t.dtype, np.ndarray
        return lambda given: type(given) is array and given.dtype is dtype and given.flags.carray
    if isinstance(t, View) and isinstance(t.to, Scalar) and t.dtype is not None and t.order in ("C", "F"):
        return _usual_view(t)
    return lambda given: False


def _usual_view(t: View) -> Callable[[Any], bool]:
    """The same for an array of another language that lies as a whole."""
    dtype, array, rank, least = t.dtype, np.ndarray, t.rank, t.least
    if any(n is not None for n in (*t.extents, *t.steps)):
        return lambda given: False
    if t.order == "C":
        return (
            lambda given: type(given) is array and given.dtype is dtype and given.flags.carray
            and given.nbytes >= least and (rank is None or rank == given.ndim)
        )  # fmt: skip
    return (
        lambda given: type(given) is array and given.dtype is dtype and given.nbytes >= least
        and (given.flags.farray or given.ndim < 2 and given.flags.carray) and (rank is None or rank == given.ndim)
    )  # fmt: skip


def _usual_number(t: CType) -> Callable[[Any], np.ndarray[Any, Any] | None] | None:
    """Makes memory of the most usual numbers that are passed by reference; None for others."""
    if not isinstance(t, View) or not t.scalar or not isinstance(t.to, Scalar) or t.dtype is None:
        return None
    dtype, kind = t.dtype, t.to.kind
    if kind == "float" and dtype == np.float64:
        return lambda given: np.array(given, dtype) if type(given) is float else None
    if kind in ("int", "uint"):
        low, high = integer_range(t.to)
        return lambda given: np.array(given, dtype) if type(given) is int and low <= given <= high else None
    return None


def integer_range(scalar: Scalar) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if scalar.kind == "uint":
        return 0, (1 << scalar.bits) - 1
    return -(1 << (scalar.bits - 1)), (1 << (scalar.bits - 1)) - 1


def holds_addresses(t: CType) -> bool:
    """May memory of this type hold pointers, or is it unknown what it holds?"""
    match t:
        case Pointer() | Opaque():
            return True
        case Array(element=element):
            return holds_addresses(element)
        case Struct(fields=fields):
            return not fields or any(holds_addresses(f.type) for f in fields)
    return False


def _element(pointer: Pointer) -> CType:
    to = pointer.to
    while isinstance(to, Array):
        to = to.element
    return to


def _is_brain_float(pointer: Pointer) -> bool:
    element = _element(pointer)
    return isinstance(element, Scalar) and element.format == "bfloat"


def _are_bytes(given: np.ndarray[Any, Any]) -> bool:
    return bool(given.dtype.kind == "V" or given.dtype.itemsize == 1)


def _described(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape} and dtype {given.dtype}"
    return f"{type(given).__name__} {given!r}"[:60]


def _dtype_name(pointer: Pointer) -> str:
    dtype = pointer.dtype
    return f"np.{dtype.name}" if dtype is not None and dtype.names is None else str(dtype)


# --- overlap ---------------------------------------------------------------------------------------------------------


def overlapping(values: Sequence[Any]) -> list[tuple[int, int]]:
    """Pairs of arrays that share memory, by position."""
    spans = [(*_span(a), n) for n, v in enumerate(values) for a in _arrays(v) if a.nbytes]
    return [
        (m, n) for (p, size, m), (q, other, n) in combinations(spans, 2) if p < q + other and q < p + size
    ]


def _arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Table):
        for row in value.rows:
            yield from _arrays(row)


def _span(a: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The first address of an array of any strides, and how many bytes lie between that and its end."""
    first = address_of(a)
    if a.flags.c_contiguous:
        return first, a.nbytes
    reach = [s * (n - 1) for s, n in zip(a.strides, a.shape, strict=True)]
    low = sum(min(0, r) for r in reach)
    return first + low, sum(max(0, r) for r in reach) - low + a.itemsize


def refuse_overlap(signature: Signature, values: Sequence[Any], *, only_restrict: bool = False) -> bool:
    """ArgumentError if an array that the code may write overlaps another; otherwise whether any two overlap.

    With `only_restrict` only pointers that the source declares `restrict` are looked at.
    """
    pairs = overlapping(values)
    for pair in pairs:
        parameters = [signature.parameters[n] for n in pair]
        pointers = [p.type for p in parameters if isinstance(p.type, Pointer)]
        written = [t for t in pointers if not t.innermost.const]
        if written and (not only_restrict or any(t.restrict for t in pointers)):
            raise ArgumentError(
                f"arguments {parameters[0].name!r} and {parameters[1].name!r} of {signature.name} share memory",
                cause=f"the code may write to {' and '.join({p.name: p for p in parameters if not _const(p)})}",
                fix="pass a copy of one of them, or declare pointers const through which nothing is written",
            )
    return bool(pairs)


def _const(parameter: Parameter) -> bool:
    return isinstance(parameter.type, Pointer) and parameter.type.innermost.const
