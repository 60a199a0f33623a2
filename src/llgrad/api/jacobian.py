"""Dense derivatives of foreign functions: `jacobian`, by as few sweeps as can be.

A sweep carries several directions at once (`derivatives.LANES`), over one run of the function. Forward mode needs a
direction for each input, reverse mode one for each output; which is used is decided at the call, when the sizes are
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from llgrad.api.derivatives import Derivative, Names, Options, dispatched
from llgrad.autodiff.requests.request import Mode
from llgrad.errors import ArgumentError, at_the_caller
from llgrad.execution.library import ForeignFunction
from llgrad.execution.passing import Table

REVERSE_COST = 1.5  # a reverse sweep costs about so many forward sweeps (measured: 1.3 to 1.8)


class Jacobian:
    """Call it with the function's arguments: the derivative of every output by every input. Made by `jacobian`."""

    def __init__(
        self, function: ForeignFunction, wrt: Names, of: str | int | None, mode: str | None, **options: Unpack[Options]
    ) -> None:
        if mode not in (None, "forward", "reverse"):
            raise ArgumentError(f"mode={mode!r} is neither \"forward\" nor \"reverse\"", fix="leave it out")
        if mode is None and function.library.passes_messages:
            raise ArgumentError(
                f"the Jacobian of {function.__name__}, which passes messages, without a mode",
                cause="forward mode gives what all ranks' inputs together do to the outputs of one, reverse mode what "
                "the inputs of one do to all outputs together",
                fix='say mode="forward" or mode="reverse"',
            )
        self.forward = Derivative(function, Mode.FORWARD, wrt, of, "jacobian", compile=mode == "forward", **options)
        self.reverse = Derivative(function, Mode.COMBINED, wrt, of, "jacobian", compile=mode == "reverse", **options)
        self.mode = mode
        self.__name__, self.__doc__ = self.forward.__name__, self.forward.__doc__
        self.__signature__ = self.forward.__signature__

    @at_the_caller
    def __call__(self, *args: Any, **named: Any) -> Any:
        """The Jacobian by each parameter in `wrt`: an array of the output's shape, then the parameter's."""
        of, wrt = self.forward.of, self.forward.wrt
        values = self.forward.function.values(args, named)
        inputs = [_shape(values[n], self.forward.signature.parameters[n].name) for n in wrt]
        output = () if of is None else _shape(values[of], self.forward.signature.parameters[of].name)
        sizes, rows = [_size(s) for s in inputs], _size(output)
        if self.mode == "forward" or (self.mode is None and sum(sizes) <= REVERSE_COST * rows):
            matrix = self._by_columns(values, inputs, sizes, rows)
        else:
            matrix = self._by_rows(values, output, sizes, rows)
        parts = np.split(matrix, np.cumsum(sizes)[:-1], axis=1)
        found = tuple(p.reshape(output + s).copy() for p, s in zip(parts, inputs, strict=True))
        return found[0] if self.forward.single else found

    def __repr__(self) -> str:
        return repr(self.forward)

    def _by_columns(
        self, values: Sequence[Any], shapes: Sequence[tuple[int, ...]], sizes: Sequence[int], rows: int
    ) -> Any:
        """A tangent for each input."""

        def direction(k: int) -> Any:
            tangents = [np.zeros(s) if s else 0.0 for s in shapes]
            for n, size in enumerate(sizes):
                if 0 <= k < size:
                    tangents[n] = _unit(shapes[n], k)
                k -= size
            return tangents[0] if self.forward.single else tangents

        _, found = self.forward.run_many(values, {}, sum(sizes), direction)
        return np.array([np.reshape(t, rows) for t in found]).reshape(sum(sizes), rows).T

    def _by_rows(self, values: Sequence[Any], output: tuple[int, ...], sizes: Sequence[int], rows: int) -> Any:
        """A seed for each output."""
        _, found = self.reverse.run_many(values, {}, rows, lambda k: _unit(output, k))
        lines = [[g] if self.reverse.single else g for g in found]
        flat = [np.concatenate([np.reshape(g, -1) for g in line]) for line in lines]
        return np.array(flat).reshape(rows, sum(sizes))


@dispatched
def jacobian(
    function: ForeignFunction, wrt: Names = None, of: str | int | None = None, *, mode: str | None = None,
    **options: Unpack[Options],
) -> Jacobian:  # fmt: skip
    """A function that returns the dense Jacobian: an array of the output's shape followed by the parameter's.

    wrt    a name or position, or a tuple of them (then a tuple comes back); by default all floats only read
    of     the pointer through which the function writes its result; by default its returned float
    mode   "forward" or "reverse"; by default what needs fewer sweeps
    options  see `derivatives.Options`

    Arrays that the function writes hold, after the call, what one run writes. Raises as `value_and_grad`.
    """
    return Jacobian(function, wrt, of, mode, **options)


def _shape(value: Any, name: str) -> tuple[int, ...]:
    if value is None:
        raise ArgumentError(f"argument {name!r} is None, but its derivative is wanted")
    if isinstance(value, Table) or isinstance(value, np.ndarray) and value.dtype.names is not None:
        what = "is a list of arrays" if isinstance(value, Table) else "holds structs"
        raise ArgumentError(f"argument {name!r} {what}: its Jacobian is no matrix", fix="use vjp or jvp")
    return np.shape(value)


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def _unit(shape: tuple[int, ...], k: int) -> Any:
    """One at element `k`, else zero."""
    if not shape:
        return 1.0
    made = np.zeros(shape)
    made.reshape(-1)[k : k + 1] = 1
    return made


__all__ = ["Jacobian", "jacobian"]
