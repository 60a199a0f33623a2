"""Seeds and tangents: what a user gives as directions of outputs and of inputs, and what comes back.

All derivatives take them alike. For one name it is one value; for a tuple of names a tuple in its order, or a dict by
names, which may leave out what is zero. Inside, a direction is a list with one value for each name; None is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from llgrad.errors import ArgumentError, ForeignError
from llgrad.execution.passing import Table, shaped

Direction = list[Any]


def listed(given: Any, names: Sequence[str], single: bool, what: str) -> Direction:
    """A value for each of `names`; ArgumentError where what is given does not say them."""
    if isinstance(given, Mapping):
        if unknown := [str(n) for n in given if n not in names]:
            raise ArgumentError(f"{what} has no {unknown[0]}", fix=f"give {' and '.join(names)}")
        return [given.get(n) for n in names]
    if single:
        return [given]
    if not isinstance(given, tuple | list) or len(given) != len(names):
        raise ArgumentError(f"{what} must be {len(names)} values, for {', '.join(names)}", fix="pass a tuple")
    return list(given)


def batch(values: Sequence[Any], given: Direction) -> list[Direction] | None:
    """The directions in a batch, where each thing given has one axis more than its value; else None."""
    count = -1
    for v, g in zip(values, given, strict=True):
        if g is None:
            continue
        shape: tuple[int, ...] = () if isinstance(v, Table) else np.shape(g)  # (lists of arrays: a direction a call)
        if v is None or len(shape) != np.ndim(v) + 1 or count not in (-1, shape[0]):
            return None
        count = shape[0]
    if count < 1:
        return None
    return [[None if g is None else g[k] for g in given] for k in range(count)]


def stacked(rows: Sequence[Any]) -> Any:
    """Arrays as one with an axis more: that which they are the rows of, or a new one."""
    whole = getattr(rows[0], "base", None)
    if not isinstance(whole, np.ndarray) or whole.shape[1:] != rows[0].shape or not all(r.base is whole for r in rows):
        return np.array(rows)
    at, size = whole.__array_interface__["data"][0], whole.strides[0]
    in_order = all(r.__array_interface__["data"][0] == at + n * size for n, r in enumerate(rows))
    return whole[: len(rows)] if in_order else np.array(rows)


def stacked_each(rows: Sequence[Any], single: bool) -> Any:
    """The same of tuples, each place by itself."""
    return stacked(rows) if single else tuple(stacked(places) for places in zip(*rows, strict=True))


def contents(array: np.ndarray[Any, Any]) -> Any:
    """One element as a number, several as a copy."""
    return array.reshape(-1)[0].item() if array.size == 1 else array.copy()


def number(given: Any, what: str) -> Any:
    """A float; a longer one as it is."""
    _require_real(given, what)
    try:
        return given if isinstance(given, np.longdouble) else float(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{what} must be a number here, not {given!r}"[:200]) from error


def require_same(name: str, one: Any, other: Any) -> None:
    """ForeignError where two runs of a function for the same arguments give other values."""
    several = isinstance(one, tuple)
    for a, b in zip(one, other, strict=True) if several else [(one, other)]:
        if not np.array_equal(a, b, equal_nan=True):
            raise ForeignError(
                f"{name} gives another value each time that it runs, and what is asked for takes several runs",
                cause="it changes variables of its own: each run begins with what the one before has left",
                fix="pass what it keeps as arguments, or ask for single products (vjp, jvp, hvp), each of which is one "
                "run",
            )


def require_real(value: Any, name: str, what: str, other: str) -> None:
    """ArgumentError where a derivative by or of an argument is no matrix of real numbers."""
    holds = "is a list of arrays" if isinstance(value, Table) else ""
    if isinstance(value, np.ndarray):
        holds = "holds structs" if value.dtype.names else "holds complex numbers" if value.dtype.kind == "c" else ""
    if holds:
        raise ArgumentError(
            f"argument {name!r} {holds}: its {what} is no matrix", fix=f"use {other}, or name others by wrt= and of="
        )


def _require_real(given: Any, what: str) -> None:
    """ArgumentError for complex numbers, of which NumPy would drop the imaginary parts."""
    if np.iscomplexobj(given):
        raise ArgumentError(f"{what} is complex, but what it goes with is real", fix="pass real numbers")


def fitted(value: Any, given: Any, what: str, name: str) -> Any:
    """`given` as a new array (or number, or table) that fits `value`."""
    if isinstance(value, Table):
        if not isinstance(given, list | tuple | np.ndarray) or len(given) != len(value.rows):
            raise ArgumentError(f"the {what} of {name} must be a list of {len(value.rows)} arrays")
        rows = [r if r is None else fitted(r, g, what, name) for r, g in zip(value.rows, given, strict=True)]
        return Table(rows, value.stacked)
    if not isinstance(value, np.ndarray):
        return number(given, f"the {what} of {name}")
    if value.dtype.kind != "c":
        _require_real(given, f"the {what} of {name}")
    try:
        made = np.array(given, dtype=value.dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"the {what} of {name} is no array of {value.dtype}", cause=str(error)) from error
    if made.shape != value.shape:
        if made.ndim == 0 and value.size == 1:
            return shaped(value, made.reshape(value.shape))
        raise ArgumentError(
            f"the {what} of {name} has shape {made.shape}, not {value.shape}", fix=f"give it the shape of {name}"
        )
    return shaped(value, made)


# --- directions as vectors


def packed(parts: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Arrays and numbers as one vector."""
    return np.concatenate([np.zeros(0), *(np.asarray(p, float).reshape(-1) for p in parts)])


def unpacked(x: np.ndarray[Any, Any], shapes: Sequence[tuple[int, ...]]) -> Direction:
    """A vector as arrays and numbers of these shapes."""
    ends = np.cumsum([element_count(s) for s in shapes])[:-1]
    return [part.reshape(s) if s else float(part[0]) for part, s in zip(np.split(x, ends), shapes, strict=True)]


def element_count(shape: tuple[int, ...]) -> int:
    """How many elements an array of this shape has."""
    return int(np.prod(shape, dtype=int))


__all__ = [
    "Direction", "batch", "contents", "element_count", "fitted", "listed", "number", "packed", "require_real",
    "require_same", "stacked", "stacked_each", "unpacked",
]  # fmt: skip
