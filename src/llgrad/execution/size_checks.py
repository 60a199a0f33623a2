"""What a call does with the check of its function: fills its block, says what exceeds an array, guards the unproven.

A `Check` belongs to a function and is kept on disk; a `Test` says where an entry has its arguments. See
`docs/memory-checks.md`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from llgrad.errors import ArgumentError, ForeignError
from llgrad.programs.guarded_memory import ANSWERS, FAULTED, SOMEWHERE, UNPROVEN, Limits, Place, Room, rooms

NAME = "llgrad.check"
_making = threading.Lock()


class Check(Struct, frozen=True):
    """`names` of IR arguments, for messages; `strided`: arrays of any strides; `data`: object file of the check."""

    limits: Limits
    function: str
    names: dict[int, str]
    strided: frozenset[int]
    data: bytes

    def place(self, p: Place) -> str:
        """What an access that is certain does."""
        at = f" at {p.source}" if p.source else ""
        name = self.names.get(p.argument, "")
        return f"which {self.function} {'writes' if p.written else 'reads'} of argument {name!r}{at}"


class Extent(Struct, frozen=True):
    """An array of which nothing is known but its size, among the values of a call."""

    nbytes: int
    itemsize: int

    @property
    def size(self) -> int:
        return self.nbytes // self.itemsize


class Test:
    """A check, and for each IR argument its place among the values of a call and how many shadows follow it there."""

    def __init__(self, check: Check, at: Sequence[tuple[int, int]]) -> None:
        self.check, self.at = check, tuple(at)
        self._engine: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Test, (self.check, self.at)

    def address(self) -> int:
        """Where the check is, or 0."""
        if not self.check.data:
            return 0
        with _making:  # threads keep the address: an engine that another takes the place of would free its code
            if self._engine is None:
                from llgrad.llvm import Engine

                self._engine = Engine.from_object(self.check.data)
            return int(self._engine.address(NAME))

    def ask(self, values: Sequence[int | Extent]) -> tuple[int, int, int, int]:
        """What the check answers before there are arrays: its result, and its words. Values: by IR argument."""
        limits, address = self.check.limits, self.address()
        if not address:
            return UNPROVEN, 0, 0, 0
        numbers = [n if isinstance(n := values[k], int) else 0 for k in limits.numbers]
        known = [SOMEWHERE if k in limits.numbers else room_of(values[k], False)[1] for k in limits.pointers]
        words = [*[0] * ANSWERS, *numbers, *(n for end in known for n in (0, end))]
        block = (ctypes.c_int64 * len(words))(*words)
        status = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)(ctypes.addressof(block))
        return status, block[0], block[1], block[2]

    def pointers(self, mask: int | None) -> list[int]:
        """The IR arguments that a mask of the check's means; None: there is no check."""
        limits = self.check.limits
        if mask is None:
            return list(limits.unknown)
        return [a for k, a in enumerate(limits.pointers) if mask >> k & 1]


def span(value: Any) -> tuple[int, int]:
    """The first byte of an array of any strides, and the one behind its last."""
    first = int(value.__array_interface__["data"][0])
    if not value.size:
        return first, first
    reach = [s * (n - 1) for s, n in zip(value.strides, value.shape, strict=True)]
    return first + sum(min(0, r) for r in reach), first + sum(max(0, r) for r in reach) + value.itemsize


def room_of(value: Any, strided: bool) -> tuple[int, int]:
    """How many bytes lie before the address that a value stands for, and from there on."""
    if value is None:
        return 0, 0
    if strided and hasattr(value, "strides"):
        low, high = span(value)
        first = int(value.__array_interface__["data"][0])
        return first - low, high - first
    size = getattr(value, "nbytes", None)
    return (SOMEWHERE, SOMEWHERE) if size is None else (0, size)


# --- what exceeds an array -------------------------------------------------------------------------------------------


def exceeded(
    test: Test, values: Sequence[Any], which: int, low: int, high: int, error: type[ArgumentError] = ArgumentError
) -> ArgumentError:
    """The error for an access that certainly lies outside of an array."""
    check = test.check
    place = check.limits.places[which]
    value, name = values[test.at[place.argument][0]], check.names.get(place.argument, "")
    size, item = getattr(value, "nbytes", 0), max(getattr(value, "itemsize", 1), 1)
    element = (high - 1) // item if high > size else low // item
    known = [(check.names.get(n, n), values[test.at[n][0]]) for n in check.limits.numbers]
    numbers = [f"{n} = {v.item() if hasattr(v, 'item') else v}" for n, v in known if getattr(v, "size", 1) == 1]
    given = f" for {', '.join(numbers)}" if numbers else ""
    does = "writes" if place.written else "reads"
    cause = f"it does so at {place.source}" if place.source else ""
    if value is None:
        message = f"argument {name!r} of {check.function} is None, but the code {does} what it points to{given}"
        return error(message, cause=cause, fix="pass an array")
    least = f"pass an array of at least {element + 1} elements" if element >= 0 else "pass other numbers"
    has = f"has {size // item} elements, but the code {does} element {element}{given}"
    return error(f"argument {name!r} of {check.function} {has}", cause=cause, fix=least)


def left(function: str, name: str, size: int, element: int | None) -> ForeignError:
    """The error for an access that a guarded call found (None: of something that was written before the array)."""
    what = "wrote before its first element" if element is None else f"accessed element {element}"
    return ForeignError(
        f"{function} {what} of argument {name!r}, which has {size} elements",
        cause="an index in the arguments, or computed from them, is wrong", fix="check sizes and indices",
    )  # fmt: skip


def lost(function: str, address: int) -> ForeignError:
    """The error for an access that a guarded call found, near no array."""
    return ForeignError(
        f"{function} accessed memory that does not exist, at {address:#x}",
        cause="an index or a pointer is wrong", fix="check what it was given",
    )  # fmt: skip


# --- what is unproven ------------------------------------------------------------------------------------------------


class Guarded:
    """Copies of the arrays of a call that may be left, in guarded memory; those that overlap one lie with it."""

    def __init__(self, test: Test, values: Sequence[Any], unproven: Sequence[int], behind: Sequence[int]) -> None:
        """`unproven`: the IR arguments that may be left, at either end, or `behind` their last elements."""
        self.test, self.values = test, list(values)
        self._groups: list[tuple[Room, int, list[tuple[int, int, Any]]]] = []
        limits = test.check.limits
        wanted = {p for a in unproven if a not in limits.pinned for p in self._positions(a)}
        ends = {p for a in behind for p in self._positions(a)}
        fixed = {p for a in limits.pinned for p in self._positions(a)}
        for low, high, members in _overlapping(values):
            positions = {p for p, _ in members}
            if positions & wanted and not positions & fixed:
                self._move(low, high, members, limits.alignment, not positions & wanted & ends)

    def _positions(self, argument: int) -> range:
        at, shadows = self.test.at[argument]
        return range(at, at + shadows + 1)

    def _move(self, low: int, high: int, members: Sequence[tuple[int, Any]], alignment: int, first: bool) -> None:
        room = rooms.take(high - low, alignment)
        away = room.put(low, high - low, alignment, members[0][1].itemsize, first=first) - low
        for p, array in members:
            self.values[p] = int(array.__array_interface__["data"][0]) + away
        self._groups.append((room, away, [(p, self.values[p], array) for p, array in members]))

    def back(self) -> None:
        """Copy what may have been written; ForeignError if it was written outside."""
        read_only = {self.test.at[a][0] for a in self.test.check.limits.read_only}
        for room, _, members in self._groups:
            if not room.intact():
                raise self._left(members[0][0], None)
        for _, away, members in self._groups:
            for p, _, array in members:
                if p not in read_only and array.flags.writeable:
                    _copy_back(array, away)

    def fault(self, address: int) -> ForeignError:
        """The error for an access to an address that the process may not access."""
        for room, _, members in self._groups:
            if room.holds(address):
                p, at, array = min(members, key=lambda m: abs(m[1] - address))
                return self._left(p, (address - at) // max(array.itemsize, 1))
        if address < 1 << 22 and any(self.values[at] is None for at, _ in self.test.at):
            fix = "pass arrays instead of None"
            return ForeignError(f"{self.test.check.function} followed a null pointer", cause="it got None", fix=fix)
        return lost(self.test.check.function, address)

    def _left(self, position: int, element: int | None) -> ForeignError:
        argument = next(a for a, (at, more) in enumerate(self.test.at) if at <= position <= at + more)
        name = self.test.check.names.get(argument, "")
        return left(self.test.check.function, name, self._size(argument), element)

    def _size(self, argument: int) -> int:
        at = self.test.at[argument][0]
        return next((int(a.size) for _, _, members in self._groups for p, _, a in members if p == at), 0)

    def release(self) -> None:
        for room, _, _ in self._groups:
            rooms.give(room)


def _copy_back(array: Any, away: int) -> None:
    import numpy as np

    first = int(array.__array_interface__["data"][0])
    if array.flags.forc:
        ctypes.memmove(first, first + away, array.nbytes)
        return
    low, high = span(array)
    raw = memoryview((ctypes.c_char * (high - low)).from_address(low + away)).cast("B")
    array[...] = np.ndarray(array.shape, array.dtype, raw, first - low, array.strides)


def _overlapping(values: Sequence[Any]) -> Iterator[tuple[int, int, list[tuple[int, Any]]]]:
    """Stretches of memory that hold arrays which overlap, with the arrays and their places."""
    arrays = [(*span(v), n, v) for n, v in enumerate(values) if hasattr(v, "strides") and hasattr(v, "flags")]
    low = high = 0
    members: list[tuple[int, Any]] = []
    for first, end, n, v in sorted(arrays, key=lambda x: x[:3]):
        if members and (first < high or (first == low and end == high)):
            high = max(high, end)
            members.append((n, v))
            continue
        if members:
            yield low, high, members
        low, high, members = first, end, [(n, v)]
    if members:
        yield low, high, members


__all__ = ["FAULTED", "Check", "Extent", "Guarded", "Test", "exceeded", "left", "lost", "room_of", "span"]
