"""Sparse Jacobians and Hessians: a pattern, coloured once, then a sweep for each colour (Curtis, Powell and Reid 1974).

The columns of one colour have no row in common: the derivative along their sum holds the entries of all of them.
Reverse mode does the same with rows, or with a few long rows alone. A Hessian is star-coloured: each entry stands alone
in its row, or its mirror image does. `WIDTH` colours go in one sweep, over one run of the function.

No pattern is believed. In each call one more lane carries a random direction, and what it finds is compared with the
matrix times that direction: an entry outside of the pattern makes them differ. A pattern that was given is an error
then; one that was found is found again at the new arguments, where other branches are taken, and joined with the old.
Where sets find nothing new at the same arguments, the difference was rounding: the pattern is proven there, and the
probe is less strict from then on.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from llgrad.api import colouring
from llgrad.api.colouring import Colouring, Pattern, Probe
from llgrad.api.derivatives import Derivative, dispatched
from llgrad.api.directions import require_same
from llgrad.api.jacobian import REVERSE_COST
from llgrad.api.names import Names
from llgrad.api.options import Options
from llgrad.api.second_order import Second
from llgrad.api.sparsity import Inputs, copied, pattern, result_format, sets_of, symmetric
from llgrad.autodiff.requests.request import Act, Mode
from llgrad.errors import ArgumentError, ForeignError, UnsupportedError, at_the_caller
from llgrad.execution.library import ForeignFunction
from llgrad.signature import Pointer

Floats = NDArray[Any]
WIDTH = 4  # directions in one sweep: wider ones cost as much a lane or, where a function computes much, twice that
MOST_LONG = 256  # rows that are found by reverse sweeps beside forward ones
WORTH_THREADS = 2e-3  # seconds of all sweeps of a call
KEPT = 8  # shapes of arguments whose patterns and memory are kept
LOOSE = float(np.finfo(np.float32).eps) ** 0.5  # where a function computes in floats, whatever its arguments are


class Runs(ABC):
    """Sweeps along many directions, over threads where they take long. Each sweep but the first runs on copies of what
    the function writes. A function that changes variables of its own runs on one thread, on what it was given."""

    def __init__(self, derivative: Derivative, count: int, width: int, threads: int | None) -> None:
        self.derivative, self.count = derivative, count
        self.stateful = derivative.function.library.effects(derivative.signature.symbol).stateful
        self.threads = 1 if self.stateful else threads or _cores()
        self.chunks = chunks(count, width, self.threads)
        self.copies: list[list[Any]] = []
        self.seconds, self.compiled = 0.0, False

    @abstractmethod
    def chunk(self, k: int, inputs: Inputs, values: Sequence[Any], disjoint: bool, seed: Any) -> list[Floats]:
        """What the directions of one sweep found."""

    def run(self, inputs: Inputs, before: Sequence[Any], seed: Any = None) -> list[Floats]:
        """What each direction found, as a vector; the next call overwrites it."""
        disjoint = self.derivative._disjoint(inputs.values)
        count = len(self.chunks)
        begun = time.perf_counter()
        if self.threads > 1 and count > 1 and self.seconds > WORTH_THREADS:
            given = [inputs.values, *self._copied(inputs.values, before)]
            with ThreadPoolExecutor(min(self.threads, count)) as pool:
                jobs = [pool.submit(self.chunk, k, inputs, given[k], disjoint, seed) for k in range(count)]
                return [vector for job in jobs for vector in job.result()]
        found: list[Floats] = []
        for k in range(count):
            if k:
                restore(inputs.values, before)
            found += self.chunk(k, inputs, inputs.values, disjoint, seed)
        self.seconds = time.perf_counter() - begun if self.compiled else 0.0
        self.compiled = True
        return found

    def _copied(self, values: Sequence[Any], before: Sequence[Any]) -> list[list[Any]]:
        """Arguments for each sweep but the first: arrays that the function may write are its own."""
        written = [n for n, v in enumerate(values) if self.derivative._may_write(n, v)]
        if not self.copies:
            self.copies = [[copied(v) if n in written else None for n, v in enumerate(values)] for _ in self.chunks[1:]]
        for own in self.copies:
            restore(own, [before[n] if n in written else None for n in range(len(values))])
        return [[values[n] if v is None else v for n, v in enumerate(own)] for own in self.copies]


class Sweeps(Runs):
    """Runs a derivative in memory that is kept from call to call.

    `seeds` are the directions (of the inputs, or weights of the outputs), one a colour and then the probe's.
    """

    def __init__(self, derivative: Derivative, inputs: Inputs, seeds: Sequence[Floats], threads: int | None) -> None:
        super().__init__(derivative, len(seeds), WIDTH, threads)
        self.forward = derivative.mode is Mode.FORWARD
        self.value: Any = None
        self.lanes = [
            [derivative._cleared(n, v) if derivative.acts[n] is Act.DUP else None for n, v in enumerate(inputs.values)]
            for _ in seeds
        ]
        self.starts = [self._start(inputs, s) for s in seeds]
        self.numbers = [float(s[0]) if s.size else 0.0 for s in seeds]
        for lane, start in zip(self.lanes, self.starts, strict=True):
            self._fill(lane, start, True)

    def _start(self, inputs: Inputs, seed: Floats) -> dict[int, Any]:
        """What the shadows hold before a sweep, where that is not zero."""
        if self.forward:
            return dict(zip(self.derivative.wrt, inputs.directions(seed), strict=True))
        of = self.derivative.of
        return {} if of is None else {of: seed.reshape(np.shape(inputs.values[of])).astype(inputs.values[of].dtype)}

    def _fill(self, lane: list[Any], start: dict[int, Any], first: bool = False) -> None:
        for n, shadow in enumerate(lane):
            if not isinstance(shadow, np.ndarray):
                lane[n] = start.get(n, shadow)
            elif first or n not in start or not self.forward or self._may_change(n):
                shadow[...] = start.get(n, 0)

    def _may_change(self, n: int) -> bool:
        t = self.derivative.signature.parameters[n].type
        return not (isinstance(t, Pointer) and t.const)

    def chunk(self, k: int, inputs: Inputs, values: Sequence[Any], disjoint: bool, seed: Any) -> list[Floats]:
        del seed
        first, end = self.chunks[k]
        lanes = self.lanes[first:end]
        for lane, start in zip(lanes, self.starts[first:end], strict=True):
            self._fill(lane, start)
        results = self.derivative._sweep(values, lanes, [[n] for n in self.numbers[first:end]], disjoint)
        if self.stateful:
            one = self.derivative._value(values, results)
            self.value = self.value if k else one
            require_same(self.derivative.signature.name, self.value, one)
        return [self._vector(inputs, lane, results, n, len(lanes)) for n, lane in enumerate(lanes)]

    def _vector(self, inputs: Inputs, lane: list[Any], results: tuple[Any, ...], n: int, width: int) -> Floats:
        of = self.derivative.of
        if not self.forward:
            found = self.derivative._derivatives(lane, results, n, width)
            return inputs.joined([found] if self.derivative.single else found)
        found = self.derivative._derivatives(lane, results, n, width) if of is None else lane[of]
        t = result_format(self.derivative, inputs.values)
        return np.ascontiguousarray(np.reshape(np.asarray(found, t), -1))


class SecondSweeps(Runs):
    """Runs Hessian-vector products."""

    def __init__(self, derivative: Second, inputs: Inputs, seeds: Sequence[Floats], threads: int | None) -> None:
        super().__init__(derivative, len(seeds), 1 if Act.OUT in derivative.acts else WIDTH, threads)
        self.second = derivative
        self.directions = [inputs.directions(s) for s in seeds]

    def chunk(self, k: int, inputs: Inputs, values: Sequence[Any], disjoint: bool, seed: Any) -> list[Floats]:
        first, end = self.chunks[k]
        found = self.second._products(values, self.second.seeds(seed), self.directions[first:end], disjoint)
        return [inputs.joined([f] if self.second.single else f) for f in found]

    def run(self, inputs: Inputs, before: Sequence[Any], seed: Any = None) -> list[Floats]:
        changing = self.stateful and len(self.chunks) > 1
        first = self.second._tried(inputs.values) if changing else []
        found = super().run(inputs, before, seed)
        for one, other in zip(first, self.second._tried(inputs.values, before) if changing else [], strict=True):
            require_same(self.second.signature.name, one, other)
        return found


def chunks(count: int, most: int, threads: int = 1) -> list[tuple[int, int]]:
    """`count` directions in few sweeps of nearly equal widths, as many for each thread: where each begins and ends."""
    sweeps = -(-count // most)
    if sweeps > 1:
        sweeps = min(-(-sweeps // threads) * threads, count)
    ends = [count * n // sweeps for n in range(sweeps + 1)] if sweeps else [0]
    return list(zip(ends, ends[1:], strict=False))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def restore(values: Sequence[Any], before: Sequence[Any]) -> None:
    """Give arrays that the function writes the contents that they had."""
    for v, old in zip(values, before, strict=True):
        if old is not None:
            v[...] = old


class Long(Struct):
    """Rows with so many entries that reverse sweeps find them, while forward sweeps find the others: `rows` are the
    others, and `made` these; each has the shape of the whole. `entries` are those of `made` among all."""

    rows: Pattern
    made: Made
    entries: NDArray[np.bool_]


class Made(Struct):
    """What is kept for arguments of certain shapes."""

    pattern: Pattern
    colouring: Colouring
    direction: Floats
    sweeps: Any
    tolerance: float
    probed: bool
    forward: bool = True
    long: Long | None = None

    def probe(self, found: Sequence[Floats], t: np.dtype[Any]) -> Probe | None:
        """What was found along the random direction, behind the colours."""
        if not self.probed:
            return None
        return Probe(self.direction, np.ascontiguousarray(found[self.colouring.count], t), self.tolerance)


class Sparse(ABC):
    """What the sparse derivatives share: patterns and memory for the shapes that were met, and the probe."""

    _asked: tuple[tuple[Any, ...], Options]

    def __reduce__(self) -> Any:
        """Pickled as what was asked for: patterns are found again."""
        return _again, (type(self), *self._asked)

    def __init__(
        self, function: ForeignFunction, wrt: Names, of: str | int | None, order: int, given: Any, probe: bool,
        threads: int | None, options: Options,
    ) -> None:  # fmt: skip
        if threads is not None and threads < 1:
            raise ArgumentError(f"threads={threads} is no number of threads", fix="leave it out: one a core")
        self.function, self.probe, self.threads = function, probe, threads
        unable = given is not None and options.get("runtime_activity")
        self.sets = None if unable else sets_of(function, wrt, of, order, options)
        self.given = None if given is None else Pattern.of(given)
        self._made: dict[Any, Made] = {}
        self._lock = threading.Lock()

    @abstractmethod
    def _derivative(self) -> Derivative:
        """The derivative that the sweeps run."""

    @abstractmethod
    def _found(self, inputs: Inputs, seed: Any) -> Pattern:
        """The pattern at these inputs, by sets."""

    @abstractmethod
    def _prepared(self, inputs: Inputs, found: Pattern) -> Made:
        """What is kept for a pattern: its colouring, and memory for its sweeps."""

    @abstractmethod
    def _evaluated(self, inputs: Inputs, made: Made, before: Sequence[Any], seed: Any) -> tuple[Floats, int | None]:
        """The entries, and a row in which the probe found others."""

    @abstractmethod
    def _shape(self, inputs: Inputs) -> tuple[int, int]:
        """The shape of the matrix."""

    def compute(self, args: Sequence[Any], named: dict[str, Any], seed: Any = None) -> Any:
        """The matrix."""
        derivative = self._derivative()
        values = self.function.values(args, named)
        inputs = Inputs(derivative, values)
        key = tuple((np.shape(v), v.strides, v.dtype) if isinstance(v, np.ndarray) else type(v) for v in values)
        with self._lock:
            before = self._before(derivative, values)
            made, new = self._made.get(key), False
            if made is None:
                made, new = self._prepared(inputs, self._first(inputs, seed)), True
                restore(values, before)
                self._made[key] = made
                if len(self._made) > KEPT:
                    del self._made[next(iter(self._made))]
            data, bad = self._evaluated(inputs, made, before, seed)
            if bad is not None:
                restore(values, before)
                self._made[key] = made = self._again(inputs, made, seed, new, bad)
                restore(values, before)
                data, bad = self._evaluated(inputs, made, before, seed)
        if bad is not None:
            raise self._refusal(bad)
        return made.pattern.matrix(data)

    def _again(self, inputs: Inputs, made: Made, seed: Any, new: bool, row: int) -> Made:
        """What is known once the probe has found a difference: more entries, or that it was rounding."""
        if self.sets is None:
            raise self._refusal(row)
        try:
            found = made.pattern if new and self.given is None else self._found(inputs, seed)
        except UnsupportedError as error:  # sets cannot follow, and a pattern was given
            raise self._refusal(row) from error
        joined = made.pattern.joined(found)
        if len(joined.items) == len(made.pattern.items):
            made.tolerance = LOOSE
            return made
        if self.given is not None:
            raise self._refusal(row)
        return self._prepared(inputs, joined)

    def _first(self, inputs: Inputs, seed: Any) -> Pattern:
        if self.given is None:
            return self._found(inputs, seed)
        shape = self._shape(inputs)
        if self.given.shape != shape:
            raise ArgumentError(f"sparsity has shape {self.given.shape}, not {shape}", fix="see llgrad.sparsity")
        return self.given

    def _before(self, derivative: Derivative, values: Sequence[Any]) -> list[Any]:
        """Copies of arrays that the function reads and writes. Outputs need none."""
        roles = self.function.roles
        outputs = {m.name for m in roles.outputs} if roles is not None else set()
        return [
            v.copy() if derivative._may_write(n, v) and derivative._name(n) not in outputs else None
            for n, v in enumerate(values)
        ]

    def _refusal(self, row: int) -> Exception:
        name = self.function.signature.name
        if self.given is None:
            return ForeignError(
                f"the derivative of {name} along a random direction is not that of its sparse matrix, at {row} for one",
                cause="rounding drowns the result, or two runs differ, or the pattern lacks entries",
                fix="look at jacobian or hessian for a small size; probe=False leaves the comparison out",
            )  # fmt: skip
        return ArgumentError(
            f"the pattern given for {name} lacks entries, at {row} for one",
            cause="a random direction found a derivative that the pattern has no place for",
            fix="leave sparsity= out: the pattern is found",
        )


class SparseJacobian(Sparse):
    """Call it with the function's arguments: the Jacobian, sparse. Made by `sparse_jacobian`."""

    def __init__(
        self, function: ForeignFunction, wrt: Names, of: str | int | None, mode: str | None, sparsity: Any,
        probe: bool, threads: int | None, **options: Unpack[Options],
    ) -> None:  # fmt: skip
        self._asked = (function, wrt, of, mode, sparsity, probe, threads), options
        if mode not in (None, "forward", "reverse"):
            raise ArgumentError(f"mode={mode!r} is neither \"forward\" nor \"reverse\"", fix="leave it out")
        self.forward = Derivative(function, Mode.FORWARD, wrt, of, "sparse_jacobian", compile=False, **options)
        self.reverse = Derivative(function, Mode.COMBINED, wrt, of, "sparse_jacobian", compile=False, **options)
        super().__init__(function, wrt, of, 1, sparsity, probe, threads, options)
        self.mode = mode
        self.__name__, self.__doc__ = self.forward.__name__, self.forward.__doc__
        self.__signature__ = self.forward.__signature__

    @at_the_caller
    def __call__(self, *args: Any, **named: Any) -> Any:
        """A `scipy.sparse.csr_array`: a row for each output, a column for each variable.

        It has arrays of its own for its entries; their places are shared with other results and cannot be written.
        """
        return self.compute(args, named)

    def __repr__(self) -> str:
        return repr(self.forward)

    def _derivative(self) -> Derivative:
        return self.forward

    def _shape(self, inputs: Inputs) -> tuple[int, int]:
        of = self.forward.of
        return 1 if of is None else int(np.size(inputs.values[of])), inputs.size

    def _found(self, inputs: Inputs, seed: Any) -> Pattern:
        assert self.sets is not None
        return pattern(self.sets, inputs.values)

    def _prepared(self, inputs: Inputs, found: Pattern) -> Made:
        apart = self._long_rows(found)
        if apart is not None:
            entries = np.repeat(apart, np.diff(found.starts))
            long = self._of(inputs, found.only(entries), False)
            made = self._of(inputs, rest := found.only(~entries), True)
            made.pattern, made.long = found, Long(rest, long, entries)
            return made
        return self._of(inputs, found, self._mode_for(found))

    def _of(self, inputs: Inputs, found: Pattern, forward: bool) -> Made:
        side, derivative = (found, self.forward) if forward else (found.transposed, self.reverse)
        how = (colouring.by_columns if forward else colouring.by_rows)(found, colouring.fewest_columns(side))
        direction, seeds = _seeds(how, inputs if forward else None, found.shape[forward], self.probe)
        formats = [result_format(self.forward, inputs.values), *map(inputs.format, inputs.wrt)]
        sweeps = Sweeps(derivative, inputs, seeds, self.threads)
        return Made(found, how, direction, sweeps, _tolerance(formats), self.probe, forward)

    def _long_rows(self, found: Pattern) -> NDArray[np.bool_] | None:
        """The rows to be found by reverse sweeps, one each, where that saves a third of all sweeps."""
        lengths = np.diff(found.starts)
        if self.mode is not None or not lengths.size:
            return None
        most = min(MOST_LONG, lengths.size - 1)
        order = np.argsort(-lengths, kind="stable")[: most + 1]
        costs = REVERSE_COST * np.arange(most + 1) + lengths[order]
        count = int(np.argmin(costs))
        if 3 * costs[count] > 2 * min(costs[0], REVERSE_COST * found.transposed.longest):
            return None
        apart = np.zeros(lengths.size, np.bool_)
        apart[order[:count]] = True
        return apart

    def _mode_for(self, found: Pattern) -> bool:
        """Does forward mode take fewer sweeps, as far as rows and columns tell? (One of one colour has no two entries.)

        Where either could, both are coloured.
        """
        if self.mode is not None:
            return self.mode == "forward"
        columns, rows = found.longest, REVERSE_COST * found.transposed.longest
        if max(columns, rows) > 2 * min(columns, rows):
            return columns <= rows
        count, _ = colouring.fewest_columns(found)
        return count <= REVERSE_COST * colouring.fewest_columns(found.transposed)[0]

    def _evaluated(self, inputs: Inputs, made: Made, before: Sequence[Any], seed: Any) -> tuple[Floats, int | None]:
        t = result_format(self.forward, inputs.values)
        if not made.forward:
            t = np.result_type(*(inputs.format(n) for n in inputs.wrt))
        found = made.sweeps.run(inputs, before)
        if made.forward and made.long is None:
            return _taken(made, found, t)
        probe = made.probe(found, t)
        if made.long is not None:
            restore(inputs.values, before)
            data = np.empty(len(made.pattern.items), t)
            data[~made.long.entries] = colouring.take(made.long.rows, made.colouring, _lanes(found, t), t, None)[0]
            data[made.long.entries] = self._evaluated(inputs, made.long.made, before, seed)[0]
            return data, None if probe is None else colouring.differs(made.pattern, data, probe)
        data, _ = colouring.take(made.pattern, made.colouring, _lanes(found, t), t, None)
        if probe is None:
            return data, None
        turned = made.pattern.matrix(data).T.tocsr().data  # rows were weighed
        return data, colouring.differs(made.pattern.transposed, turned, probe)


class SparseHessian(Sparse):
    """Call it with the function's arguments: the Hessian, sparse. Made by `sparse_hessian`."""

    def __init__(
        self, function: ForeignFunction, wrt: Names, of: str | int | None, sparsity: Any, probe: bool,
        threads: int | None, **options: Unpack[Options],
    ) -> None:  # fmt: skip
        self._asked = (function, wrt, of, sparsity, probe, threads), options
        self.second = Second(function, wrt, of, "sparse_hessian", **options)
        super().__init__(function, wrt, of, 2, sparsity, probe, threads, options)
        self.given = None if self.given is None else symmetric(self.given)
        self.__name__, self.__doc__ = self.second.__name__, self.second.__doc__
        self.__signature__ = self.second.__signature__

    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, **named: Any) -> Any:
        """A symmetric `scipy.sparse.csr_array`: both triangles. `seed` weighs the elements of the output."""
        return self.compute(args, named, seed)

    def __repr__(self) -> str:
        return repr(self.second)

    def _derivative(self) -> Derivative:
        return self.second

    def _shape(self, inputs: Inputs) -> tuple[int, int]:
        return inputs.size, inputs.size

    def _found(self, inputs: Inputs, seed: Any) -> Pattern:
        assert self.sets is not None
        return symmetric(pattern(self.sets, inputs.values, seed))

    def _prepared(self, inputs: Inputs, found: Pattern) -> Made:
        how = colouring.by_columns(found, colouring.star(found), symmetric=True)
        direction, seeds = _seeds(how, inputs, inputs.size, self.probe)
        formats = [inputs.format(n) for n in inputs.wrt]
        sweeps = SecondSweeps(self.second, inputs, seeds, self.threads)
        return Made(found, how, direction, sweeps, _tolerance(formats), self.probe)

    def _evaluated(self, inputs: Inputs, made: Made, before: Sequence[Any], seed: Any) -> tuple[Floats, int | None]:
        t = np.result_type(*(inputs.format(n) for n in inputs.wrt))
        return _taken(made, made.sweeps.run(inputs, before, seed), t)


def _again(kind: Any, arguments: tuple[Any, ...], options: Options) -> Any:
    """A sparse derivative where it is unpickled."""
    return kind(*arguments, **options)


def _tolerance(formats: Sequence[np.dtype[Any]]) -> float:
    """By how much a sweep's rounding may make sums differ, relative to their terms."""
    spacing = max(float(np.finfo(t).eps) for t in formats)
    return float(spacing**0.5)


def _seeds(how: Colouring, inputs: Inputs | None, size: int, probe: bool) -> tuple[Floats, list[Floats]]:
    """A random direction as the formats of the inputs hold it; and the directions of the colours, then that one."""
    direction = np.random.default_rng().uniform(0.5, 1.5, size) * np.random.default_rng().choice([-1.0, 1.0], size)
    narrow = inputs is None or any(inputs.format(n).itemsize < direction.itemsize for n in inputs.wrt)
    direction = direction.astype(np.float32).astype(np.float64) if narrow else direction
    seeds = [(how.colours == c).astype(np.float64) for c in range(how.count)]
    return direction, [*seeds, direction] if probe or not seeds else seeds


def _taken(made: Made, found: Sequence[Floats], t: np.dtype[Any]) -> tuple[Floats, int | None]:
    """The entries, and where they differ from the probe."""
    return colouring.take(made.pattern, made.colouring, _lanes(found, t), t, made.probe(found, t))


def _lanes(found: Sequence[Floats], t: np.dtype[Any]) -> list[Floats]:
    return [np.ascontiguousarray(one, t) for one in found]


@dispatched
def sparse_jacobian(
    function: ForeignFunction, wrt: Names = None, of: str | int | None = None, *, mode: str | None = None,
    sparsity: Any = None, probe: bool = True, threads: int | None = None, **options: Unpack[Options],
) -> SparseJacobian:  # fmt: skip
    """A function that returns the Jacobian as a `scipy.sparse.csr_array`.

    wrt    a name or position, or a tuple of them: the columns are the elements of the first, then of the next
    of     the pointer through which the function writes its result; by default its returned float
    mode   "forward" or "reverse"; by default what needs fewer sweeps
    sparsity  the pattern, as a matrix of SciPy's or NumPy's; by default it is found at the first call (`sparsity`)
    probe  compare each matrix with a derivative along a random direction, which finds entries that the pattern lacks
    threads  how many at most; by default one a core, where sweeps take long
    options  see `options.Options`

    Rows and columns count elements in C order. Raises as `jacobian`; ArgumentError where a pattern that was given lacks
    entries.
    """
    return SparseJacobian(function, wrt, of, mode, sparsity, probe, threads, **options)


@dispatched
def sparse_hessian(
    function: ForeignFunction, wrt: Names = None, of: str | int | None = None, *, sparsity: Any = None,
    probe: bool = True, threads: int | None = None, **options: Unpack[Options],
) -> SparseHessian:  # fmt: skip
    """A function that returns the Hessian as a symmetric `scipy.sparse.csr_array`; see `sparse_jacobian`.

    `seed=` at the call weighs the elements of `of`: the Hessian of a Lagrangian, with the multipliers as weights.
    """
    return SparseHessian(function, wrt, of, sparsity, probe, threads, **options)


__all__ = ["SparseHessian", "SparseJacobian", "sparse_hessian", "sparse_jacobian"]
