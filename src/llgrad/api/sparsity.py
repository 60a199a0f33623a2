"""Which outputs depend on which inputs: `sparsity`, by forward mode over sets of inputs (`bit_sets`).

A sweep tells the outputs that depend on each of `LANES * CAPACITY` *groups* of inputs. Groups begin coarse: the inputs
in as many blocks. Then blocks are cut into pieces, by the pattern of outputs by blocks: blocks that no output shares
(one colour) are told apart by that pattern, so that one group holds a piece of each. A pattern of c colours by 10^6
inputs takes three or four sweeps, for c up to thirty; one with a full row takes a sweep for each 480 inputs. Memory is
linear in the entries. (Blocks are cut as by Griewank and Mitev, Detecting Jacobian sparsity patterns by Bayesian
probing, 2002; sets make each answer certain.)

The pattern is that of the run: of the branches taken at the arguments given. It may hold entries that are zero
(`0 * x`, `x - x`, the operand that `fmax` leaves); it lacks none that is not. That of one output is full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from llgrad.api.colouring import Pattern, columns, members
from llgrad.api.derivatives import LANES, Derivative, dispatched
from llgrad.api.directions import require_real, require_same
from llgrad.api.names import Names
from llgrad.api.options import Options
from llgrad.api.second_order import Second
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.autodiff.sweeps.bit_sets import CAPACITY
from llgrad.errors import ArgumentError, at_the_caller
from llgrad.execution.library import ForeignFunction
from llgrad.execution.passing import laid
from llgrad.signature import Scalar

Sets = NDArray[np.uint64]
_WORDS: dict[int, np.dtype[Any]] = {8: np.dtype(np.uint64), 4: np.dtype(np.uint32)}
_CAPACITIES = {8: CAPACITY["double"], 4: CAPACITY["float"]}
_FEW = 8  # pieces of a block where colours are too many for one sweep


class Inputs:
    """The variables of a call in one vector: those of each parameter in `wrt`, flattened row by row, joined."""

    def __init__(self, derivative: Derivative, values: Sequence[Any]) -> None:
        self.derivative, self.values = derivative, values
        self.wrt = derivative.wrt
        self.shapes = [self._shape(n) for n in self.wrt]
        self.sizes = [int(np.prod(s, dtype=int)) for s in self.shapes]
        self.size = sum(self.sizes)

    def _shape(self, n: int) -> tuple[int, ...]:
        value, name = self.values[n], self.derivative._name(n)
        if value is None:
            raise ArgumentError(f"argument {name!r} is None, but its derivative is wanted")
        require_real(value, name, "Jacobian", "vjp or jvp")
        return np.shape(value)

    def format(self, n: int) -> np.dtype[Any]:
        """The floats of parameter `n`: doubles or floats."""
        value, t = self.values[n], self.derivative.signature.parameters[n].type
        found = value.dtype if isinstance(value, np.ndarray) else t.dtype if isinstance(t, Scalar) else None
        return _required(found, self.derivative._name(n))

    def parts(self, flat: NDArray[Any], fill: Callable[[NDArray[Any], np.dtype[Any]], NDArray[Any]]) -> list[Any]:
        """What stands for a vector: an array, or a number, for each parameter; `fill` makes its elements."""
        found: list[Any] = []
        for n, shape, part in zip(self.wrt, self.shapes, np.split(flat, np.cumsum(self.sizes)[:-1]), strict=True):
            made = fill(part, self.format(n)).reshape(shape)
            found.append(made if shape or isinstance(self.values[n], np.ndarray) else made.item())
        return found

    def directions(self, flat: NDArray[np.float64]) -> list[Any]:
        """Tangents, one for each parameter."""
        return self.parts(flat, lambda part, t: part.astype(t))

    def joined(self, parts: Sequence[Any]) -> NDArray[Any]:
        """The vector that arrays and numbers stand for, in their widest format."""
        flat = [np.reshape(np.asarray(p, self.format(n)), -1) for n, p in zip(self.wrt, parts, strict=True)]
        return np.concatenate(flat) if flat else np.zeros(0)


def result_format(derivative: Derivative, values: Sequence[Any]) -> np.dtype[Any]:
    """The floats of the output: doubles or floats."""
    if derivative.of is None:
        result = derivative.signature.result
        return _required(result.dtype if isinstance(result, Scalar) else None, "the result")
    value = values[derivative.of]
    return _required(value.dtype if isinstance(value, np.ndarray) else None, derivative._name(derivative.of))


def _required(t: np.dtype[Any] | None, name: str) -> np.dtype[Any]:
    if t is None or t.kind != "f" or t.itemsize not in _WORDS:
        raise ArgumentError(f"{name} has dtype {t}: sparse derivatives are of doubles and floats", fix="use jacobian")
    return t


def _as_floats(sets: Sets, t: np.dtype[Any]) -> NDArray[Any]:
    made: NDArray[Any] = sets.astype(_WORDS[t.itemsize]).view(t)
    return made


def _as_sets(found: Any, t: np.dtype[Any]) -> Sets:
    bits: NDArray[Any] = np.ascontiguousarray(np.reshape(np.asarray(found, t), -1)).view(_WORDS[t.itemsize])
    return bits.astype(np.uint64)


# --- sweeps over sets


class JacobianSets(Derivative):
    """Forward mode over sets: of each output, the inputs that it depends on."""

    def request_for(self, disjoint: bool, width: int = 1) -> Request:
        return replace(super().request_for(disjoint, width), sets=True, strong_zero=False)

    def rows(self, values: Sequence[Any]) -> int:
        """How many the pattern has."""
        return 1 if self.of is None else int(np.size(values[self.of]))

    def formats(self, inputs: Inputs) -> list[np.dtype[Any]]:
        return [result_format(self, inputs.values), *map(inputs.format, self.wrt)]

    def propagated(self, inputs: Inputs, sets: Sequence[Sets], seed: Any) -> tuple[Any, list[Sets]]:
        """The function's value, and the sets of its outputs for those of its inputs, in each lane."""
        del seed
        values, t = inputs.values, result_format(self, inputs.values)
        given = [inputs.parts(s, _as_floats) for s in sets]
        lanes = [self._shadows(values, g) for g in given]
        results = self._sweep(values, lanes, given, self._disjoint(values))
        found = [self._derivatives(lane, results, n, len(lanes)) for n, lane in enumerate(lanes)]
        return self._value(values, results), [_as_sets(f, t) for f in found]


class HessianSets(Second):
    """Forward mode over sets, of the gradient: of each partial derivative, the inputs that it depends on."""

    def request_for(self, disjoint: bool, width: int = 1) -> Request:
        return replace(super().request_for(disjoint, width), sets=True, strong_zero=False)

    def rows(self, values: Sequence[Any]) -> int:
        """How many the pattern has."""
        return Inputs(self, values).size

    def formats(self, inputs: Inputs) -> list[np.dtype[Any]]:
        return [inputs.format(n) for n in self.wrt]

    def propagated(self, inputs: Inputs, sets: Sequence[Sets], seed: Any) -> tuple[Any, list[Sets]]:
        values = inputs.values
        given = [inputs.parts(s, _as_floats) for s in sets]
        most = 1 if Act.OUT in self.acts else len(sets)
        found: list[Any] = []
        for start in range(0, len(sets), most):
            found += self._products(values, self.seeds(seed), given[start : start + most], self._disjoint(values))
        lanes = []
        for one in found:
            parts = zip(self.wrt, [one] if self.single else one, strict=True)
            lanes.append(np.concatenate([_as_sets(p, inputs.format(n)) for n, p in parts]))
        return None, lanes


Sweeps = JacobianSets | HessianSets


def pattern(derivative: Sweeps, values: Sequence[Any], seed: Any = None) -> Pattern:
    """The pattern of the matrix at the arguments given. Arrays that the function writes are left as one run leaves
    them."""
    inputs, count = Inputs(derivative, values), derivative.rows(values)
    sizes = derivative.formats(inputs)
    capacity = min(_CAPACITIES[t.itemsize] for t in sizes)
    before = [copied(v) if derivative._may_write(n, v) else None for n, v in enumerate(values)]
    if count == 1:  # a gradient has a place for each input
        derivative.function(*values)
        return Pattern((1, inputs.size), np.array([0, inputs.size]), np.arange(inputs.size, dtype=np.int32))
    after: list[Any] | None = None
    value: Any = None
    starts = np.array([0, inputs.size])
    found = Pattern((count, 1), np.arange(count + 1, dtype=np.int64), np.zeros(count, np.int32))
    if not inputs.size or not count:
        derivative.function(*values)
        return Pattern((count, inputs.size), np.zeros(count + 1, np.int64), np.zeros(0, np.int32))
    while after is None or starts.size <= inputs.size:
        coloured, pieces = _cut(found, starts, capacity)
        children, starts = _children(starts, pieces)
        groups, total = _groups(coloured[1], children, pieces), coloured[0] * pieces
        rows, items = [], []
        for first in range(0, total, LANES * capacity):
            lanes = 1 if total <= capacity else LANES
            given = [_sets(groups, starts, first + n * capacity, capacity) for n in range(lanes)]
            for v, old in zip(values, before, strict=True):
                if old is not None:
                    v[...] = old
            one, sets = derivative.propagated(inputs, given, seed)
            if after is None:
                after, value = [None if b is None else copied(v) for b, v in zip(before, values, strict=True)], one
            _require_same(derivative, (value, after), (one, values))
            row, item = members(found, coloured[1], children, pieces, sets, capacity, first)
            rows.append(row)
            items.append(item)
        found = Pattern.at((count, starts.size - 1), np.concatenate(rows), np.concatenate(items))
    return Pattern((count, inputs.size), found.starts, found.items)


def copied(v: NDArray[Any]) -> NDArray[Any]:
    """A copy with the strides of an array."""
    made = laid(v) if not v.flags.c_contiguous else np.empty_like(v)
    made[...] = v
    return made


def _require_same(derivative: Derivative, one: tuple[Any, Sequence[Any]], other: tuple[Any, Sequence[Any]]) -> None:
    """ForeignError where two runs differ: their patterns may, too."""
    name = derivative.signature.name
    if one[0] is not None:
        require_same(name, one[0], other[0])
    for a, b in zip(one[1], other[1], strict=True):
        if a is not None and a.dtype.names is None:
            require_same(name, a, b)


def _cut(found: Pattern, starts: NDArray[Any], capacity: int) -> tuple[tuple[int, NDArray[np.int32]], int]:
    """A colouring of the blocks, and into how many pieces each is cut: as many as one sweep can tell apart."""
    coloured = columns(found)
    largest = int(np.diff(starts).max())
    pieces = LANES * capacity // max(coloured[0], 1)
    return coloured, min(largest, pieces if pieces > 1 else _FEW)


def _children(starts: NDArray[Any], pieces: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """The first child of each block (and how many there are in all), and where the children start."""
    sizes = np.diff(starts)
    size = -(-sizes // pieces)
    counts = -(-sizes // np.maximum(size, 1))
    children = np.concatenate([[0], np.cumsum(counts)])
    within = np.arange(children[-1]) - np.repeat(children[:-1], counts)
    places = np.repeat(starts[:-1], counts) + within * np.repeat(size, counts)
    return children.astype(np.int32), np.append(places, starts[-1])


def _groups(colours: NDArray[np.int32], children: NDArray[np.int32], pieces: int) -> NDArray[np.int64]:
    """The group of each child: the colour of its block, and which piece of it it is."""
    counts = np.diff(children)
    within = np.arange(children[-1]) - np.repeat(children[:-1], counts)
    found: NDArray[np.int64] = np.repeat(colours.astype(np.int64) * pieces, counts) + within
    return found


def _sets(groups: NDArray[np.int64], starts: NDArray[Any], first: int, capacity: int) -> Sets:
    """The set of each input, in a lane that tells the groups from `first` on."""
    at = groups - first
    here = (at >= 0) & (at < capacity)
    bits = np.where(here, np.uint64(1) << np.where(here, at, 0).astype(np.uint64), np.uint64(0))
    return np.repeat(bits, np.diff(starts))


# --- what the user calls


class Sparsity:
    """Call it with the function's arguments: a pattern. Made by `sparsity`."""

    def __init__(
        self, function: ForeignFunction, wrt: Names, of: str | int | None, order: int, **options: Unpack[Options]
    ) -> None:
        if order not in (1, 2):
            raise ArgumentError(f"order={order!r} is neither 1, of the Jacobian, nor 2, of the Hessian")
        self.sets = sets_of(function, wrt, of, order, options)

    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, **named: Any) -> Any:
        """A `scipy.sparse.csr_array` of bool: a row for each output, a column for each variable."""
        values = self.sets.function.values(args, named)
        found = pattern(self.sets, values, seed)
        return (found if isinstance(self.sets, JacobianSets) else symmetric(found)).matrix()


def sets_of(function: ForeignFunction, wrt: Names, of: str | int | None, order: int, options: Options) -> Sweeps:
    """The sweeps over sets; compiled when they are first run."""
    if options.get("runtime_activity"):
        raise ArgumentError("no pattern is found under runtime_activity", fix="give the pattern: sparsity=…")
    if order == 1:
        return JacobianSets(function, Mode.FORWARD, wrt, of, "sparsity", compile=False, **options)
    return HessianSets(function, wrt, of, "sparsity", **options)


def symmetric(found: Pattern) -> Pattern:
    """The pattern of a Hessian: an entry stands for its mirror image, too."""
    return found.joined(found.transposed)


@dispatched
def sparsity(
    function: ForeignFunction, wrt: Names = None, of: str | int | None = None, *, order: int = 1,
    **options: Unpack[Options],
) -> Sparsity:  # fmt: skip
    """A function that returns the pattern of the Jacobian (`order=1`) or of the Hessian (`order=2`).

    wrt    a name or position, or a tuple of them: the columns are the elements of the first, then of the next
    of     the pointer through which the function writes its result; by default its returned float
    options  see `options.Options`

    The pattern is that of the run (docs/sparse.md). Raises as `jacobian`, UnsupportedError where sets cannot follow.
    """
    return Sparsity(function, wrt, of, order, **options)


__all__ = ["HessianSets", "Inputs", "JacobianSets", "Sparsity", "copied", "pattern", "result_format", "sets_of",
           "sparsity", "symmetric"]  # fmt: skip
