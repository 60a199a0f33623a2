"""Foreign functions on NumPy arrays: what SciPy's binding needs, and the plainest one there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from llgrad.api.directions import require_same
from llgrad.execution.roles import Input
from llgrad.foreign.function import Call, Foreign
from llgrad.foreign.plans import Wrt

Array = np.ndarray[Any, Any]


def array(foreign: Foreign, i: Input, given: Any) -> Array:
    """`given` as a contiguous array of the input's dtype: itself if it is one. Numbers and lists are converted; an
    array of another dtype is refused."""
    made = np.asarray(given)
    if made.dtype == i.dtype:
        return np.ascontiguousarray(made).reshape(made.shape)
    if isinstance(given, np.ndarray) and given.ndim or not np.can_cast(made.dtype, i.dtype, "same_kind"):
        raise foreign.wrong_dtype(i, str(made.dtype), f"convert it: {i.name}.astype(np.{i.dtype.name})")
    return made.astype(i.dtype)


def run(call: Call, taken: Sequence[Array]) -> list[Array]:
    """New arrays of what a call makes."""
    made = [np.empty(shape, dtype) for shape, dtype in call.made]
    call.run([a.ctypes.data for a in taken], [a.ctypes.data for a in made])
    return made


def run_batch(call: Call, count: int, taken: Sequence[Array], shared: Sequence[bool]) -> list[Array]:
    """The same `count` times over the first axis of what is not `shared`."""
    made = [np.empty((count, *shape), dtype) for shape, dtype in call.made]
    strides = [0 if s else a.strides[0] for a, s in zip(taken, shared, strict=True)]
    strides += [a.nbytes // max(count, 1) for a in made]
    call.run_batch(count, [a.ctypes.data for a in taken], [a.ctypes.data for a in made], strides)
    return made


class OneRun:
    """What is made in several runs of a function is that of one: its values must not change meanwhile. (A function that
    keeps nothing is not run for that.)"""

    def __init__(self, foreign: Foreign, tensors: Sequence[Array], statics: tuple[int, ...]) -> None:
        self.name, self.tensors = foreign.name, tensors
        self.call = foreign.call("primal", (), tuple(a.shape for a in tensors), statics) if foreign.stateful else None

    def __enter__(self) -> None:
        self.first = run(self.call, self.tensors) if self.call else []

    def __exit__(self, kind: object, *_: object) -> None:
        again = run(self.call, self.tensors) if self.call and kind is None else self.first
        for one, other in zip(self.first, again, strict=True):
            require_same(self.name, one, other)


def jacobian(foreign: Foreign, tensors: Sequence[Array], statics: tuple[int, ...], wrt: Wrt) -> Array:
    """d(all outputs)/d(tensors in wrt), a matrix: columns by forward mode or rows by reverse mode, whichever are
    fewer, in one batch over threads."""
    shapes = tuple(a.shape for a in tensors)
    outputs = foreign.call("primal", (), shapes, statics).made
    rows, columns = sum(_size(s) for s, _ in outputs), sum(tensors[n].size for n in wrt)
    forward = columns <= rows
    call = foreign.call("jvp" if forward else "vjp", wrt, shapes, statics)
    count = columns if forward else rows
    basis = unit_vectors(call.taken[len(tensors) :], count)
    with OneRun(foreign, tensors, statics):
        made = run_batch(call, count, [*tensors, *basis], [True] * len(tensors) + [False] * len(basis))
    whole = np.concatenate([a.reshape(count, _size(a.shape[1:])) for a in made], axis=1)
    return np.ascontiguousarray(whole.T) if forward else whole


def unit_vectors(items: Sequence[Any], count: int) -> list[Array]:
    """All unit vectors of a space that is made of arrays of these shapes and dtypes: batches, one array each."""
    made, at = [], 0
    for shape, dtype in items:
        block = np.zeros((count, _size(shape)), dtype)
        block[at : at + _size(shape)] = np.eye(_size(shape), dtype=dtype)
        made.append(block)
        at += _size(shape)
    return made


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
