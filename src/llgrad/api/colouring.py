"""Sparse patterns, coloured: which columns of a matrix one sweep can find together, and where each entry is then.

`colouring.c` does the work, in time linear in the entries for bounded degrees: NetworkX takes minutes where a grid has
10^6 points, igraph wants the graph of all pairs of columns, and neither has star colourings.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from llgrad.errors import ArgumentError, InternalError
from llgrad.execution.loaded import Loaded

Ints = NDArray[np.int32]
MOST_COLOURS = 1 << 16


class _Pattern(ctypes.Structure):
    _fields_ = [("starts", ctypes.c_void_p), ("items", ctypes.c_void_p)]


class Pattern(Struct, frozen=True, dict=True):
    """The places of the entries of a matrix, row by row: those of row i are `items[starts[i]:starts[i + 1]]`."""

    shape: tuple[int, int]
    starts: NDArray[np.int64]
    items: Ints

    @classmethod
    def of(cls, matrix: Any) -> Pattern:
        """That of a matrix of SciPy's or NumPy's: entries that are stored, of a dense one those that are not zero."""
        from scipy.sparse import csr_array

        made = csr_array(matrix, copy=True)  # (it is changed below)
        made.sum_duplicates()
        made.sort_indices()
        return cls(made.shape, made.indptr.astype(np.int64), made.indices.astype(np.int32))

    @classmethod
    def at(cls, shape: tuple[int, int], rows: Ints, items: Ints) -> Pattern:
        """The pattern of these entries."""
        from scipy.sparse import coo_array

        return cls.of(coo_array((np.ones(len(rows), bool), (rows, items)), shape=shape).tocsr())

    def matrix(self, data: Any = None) -> Any:
        """A `scipy.sparse.csr_array` with these entries: of `data`, or true. Their places are shared, and read-only."""
        from scipy.sparse import csr_array

        data = np.ones(len(self.items), bool) if data is None else data
        found = csr_array((data, *self._places), shape=self.shape)
        found.has_canonical_format = True
        return found

    @functools.cached_property
    def _places(self) -> tuple[Ints, NDArray[Any]]:
        few = len(self.items) <= np.iinfo(np.int32).max
        items, starts = self.items.view(), self.starts.astype(np.int32) if few else self.starts.view()
        items.flags.writeable = starts.flags.writeable = False
        return items, starts

    @functools.cached_property
    def transposed(self) -> Pattern:
        return Pattern.of(self.matrix().T)

    @functools.cached_property
    def longest(self) -> int:
        """Entries of the longest row: as many colours are needed at least."""
        return int(np.diff(self.starts).max(initial=0))

    def only(self, entries: NDArray[np.bool_]) -> Pattern:
        """Some of the entries."""
        before = np.concatenate([[0], np.cumsum(entries)])
        return Pattern(self.shape, before[self.starts].astype(np.int64), self.items[entries])

    def joined(self, other: Pattern) -> Pattern:
        """The entries of either."""
        return Pattern.of(self.matrix() + other.matrix())

    def packed(self) -> Any:
        """As C takes it."""
        return ctypes.byref(_Pattern(self.starts.ctypes.data, self.items.ctypes.data))


class Colouring(Struct, frozen=True):
    """How entries are found: entry e is element `place[e]` of what the sweep of colour `lane[e]` found."""

    count: int
    colours: Ints
    lane: NDArray[np.uint16]
    place: Ints
    by_row: bool = False
    """Is each entry at its row?"""


class _Functions:
    """`colouring.c`, compiled and loaded as any foreign code is."""

    def __init__(self) -> None:
        self._library = Loaded([Path(__file__).with_name("colouring.c")], (), 2, (), False, False)
        addresses = self._library.addresses()
        p, n, i32, f = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_double

        def made(name: str, result: Any, *parameters: Any) -> Any:
            return ctypes.CFUNCTYPE(result, *parameters)(addresses[f"llgrad_{name}"])

        self.columns = made("columns", n, n, p, p, p, p, p)
        self.star = made("star", n, n, p, p, p, p, p, p)
        self.recover = made("recover", n, n, p, p, i32, p, p, p)
        taken = (n, p, p, p, p, p, p, p, f, f)
        self.take = {8: made("take", n, *taken), 4: made("takef", n, *taken)}
        self.members = made("members", n, n, p, p, p, n, p, n, n, n, p, p, p, p)


@functools.cache
def functions() -> Any:
    """The functions, once a process."""
    return _Functions()


def columns(pattern: Pattern, order: Ints | None = None) -> tuple[int, Ints]:
    """A colour for each column, so that no row has entries in two columns of one colour; and how many colours."""
    size = pattern.shape[1]
    colours, seen = np.empty(size, np.int32), np.full(size + 1, -1, np.int32)
    count = functions().columns(
        size, pattern.transposed.packed(), pattern.packed(), _address(order), _address(colours), _address(seen)
    )
    return int(count), colours


def fewest_columns(pattern: Pattern) -> tuple[int, Ints]:
    """The same, by the best of two orders: as they come, and those with the most entries first."""
    _refuse_many(pattern.longest)
    found = columns(pattern)
    if found[0] <= pattern.longest:
        return found
    order = np.argsort(-np.diff(pattern.transposed.starts), kind="stable").astype(np.int32)
    return min(found, columns(pattern, order), key=lambda one: one[0])


def star(pattern: Pattern) -> tuple[int, Ints]:
    """A star colouring of the rows of a symmetric pattern."""
    size = pattern.shape[0]
    _refuse_many(pattern.longest)
    order = np.argsort(-np.diff(pattern.starts), kind="stable").astype(np.int32)
    found = []
    for one in (None, order):
        colours = np.empty(size, np.int32)
        room = [np.full(size + 1, -1, np.int32) for _ in range(3)]
        count = functions().star(size, pattern.packed(), _address(one), _address(colours), *map(_address, room))
        found.append((int(count), colours))
    return min(found, key=lambda one: one[0])


def _refuse_many(colours: int) -> None:
    if colours > MOST_COLOURS:
        raise ArgumentError(
            f"the matrix takes {colours} sweeps: it is not sparse", fix="use llgrad.jacobian, hessian, or products"
        )


def by_columns(pattern: Pattern, coloured: tuple[int, Ints], symmetric: bool = False) -> Colouring:
    """How entries are found by sweeps along sums of columns. `symmetric`: by a star colouring.

    Columns without entries have no colour: no sweep is along them.
    """
    count, colours = coloured
    _refuse_many(count)
    colours = np.where(np.diff(pattern.transposed.starts) > 0, colours, -1).astype(np.int32)
    lane, place = np.empty(len(pattern.items), np.uint16), np.empty(len(pattern.items), np.int32)
    lost = functions().recover(
        pattern.shape[0], pattern.packed(), _address(colours), symmetric, _address(np.zeros(count + 1, np.int32)),
        _address(lane), _address(place),
    )  # fmt: skip
    if lost:
        raise InternalError(f"a colouring hides {lost} entries of a sparse matrix")
    return Colouring(count, colours, lane, place, not symmetric)


def by_rows(pattern: Pattern, coloured: tuple[int, Ints]) -> Colouring:
    """How entries are found by reverse sweeps from sums of rows."""
    checked = by_columns(pattern.transposed, coloured)
    lane = np.repeat(checked.colours, np.diff(pattern.starts)).astype(np.uint16)
    return Colouring(checked.count, checked.colours, lane, pattern.items)


class Probe(Struct):
    """A direction, what a sweep along it found, and by how much sums may differ, relative to their terms' sizes."""

    direction: NDArray[np.float64]
    found: NDArray[Any]
    tolerance: float


def take(
    pattern: Pattern, found: Colouring, lanes: Sequence[NDArray[Any]], t: np.dtype[Any], probe: Probe | None
) -> tuple[NDArray[Any], int | None]:
    """The entries, from what the sweep of each colour found; and the first row that differs from the probe.

    Each lane is contiguous, and of type `t`.
    """
    data: NDArray[Any] = np.empty(len(pattern.items), t)
    places = (ctypes.c_void_p * max(len(lanes), 1))(*(lane.ctypes.data for lane in lanes))
    place = None if found.by_row else _address(found.place)
    return data, _taken(pattern, _address(found.lane), place, places, data, probe)


def differs(pattern: Pattern, data: NDArray[Any], probe: Probe) -> int | None:
    """The first row whose product with the direction is not what was found."""
    return _taken(pattern, None, None, None, data, probe)


def _taken(
    pattern: Pattern, lane: int | None, place: int | None, lanes: Any, data: NDArray[Any], probe: Probe | None
) -> int | None:
    compared: tuple[Any, ...] = (None, None, 0.0, 0.0)
    if probe is not None:
        finite = probe.found[np.isfinite(probe.found)]
        floor = float(np.finfo(data.dtype).eps) * float(np.abs(finite).max(initial=0))
        compared = _address(probe.direction), _address(probe.found), probe.tolerance, floor
    row = functions().take[data.itemsize](
        pattern.shape[0], pattern.packed(), lane, place, lanes, _address(data), *compared
    )
    return None if row < 0 else int(row)


def members(
    pattern: Pattern, colours: Ints, children: Ints, pieces: int, sets: Sequence[NDArray[np.uint64]], capacity: int,
    first: int,
) -> tuple[Ints, Ints]:  # fmt: skip
    """The entries (row, child) that sets stand for. The children of block b are `children[b]` to `children[b + 1]`.

    Bit k of lane l is piece number p % pieces of the blocks of colour p // pieces, for p = first + l * capacity + k.
    """
    places = (ctypes.c_void_p * len(sets))(*(s.ctypes.data for s in sets))
    most = int(colours.max(initial=0)) + 1 + capacity * len(sets)
    at, seen = np.zeros(most, np.int32), np.full(most, -1, np.int32)

    def run(*out: Ints) -> int:
        return int(functions().members(
            pattern.shape[0], pattern.packed(), _address(colours), _address(children), pieces, places, len(sets),
            capacity, first, _address(at), _address(seen), *(map(_address, out) if out else (None, None)),
        ))  # fmt: skip

    size = run()
    seen[:] = -1
    rows, items = np.empty(size, np.int32), np.empty(size, np.int32)
    if size:
        run(rows, items)
    return rows, items


def _address(array: NDArray[Any] | None) -> int | None:
    return None if array is None else array.ctypes.data


__all__ = ["Colouring", "Pattern", "Probe", "by_columns", "by_rows", "columns", "differs", "fewest_columns", "members",
           "star", "take"]  # fmt: skip
