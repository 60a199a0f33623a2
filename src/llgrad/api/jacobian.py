"""Dense derivatives of foreign functions: `jacobian`, by as few sweeps as can be.

A sweep carries several directions at once (`derivatives.LANES`), over one run of the function. Forward mode needs a
direction for each input, reverse mode one for each output; which is used is decided at the call, when the sizes are
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from llgrad.api.derivatives import Derivative, dispatched
from llgrad.api.directions import Direction, require_real
from llgrad.api.names import Names
from llgrad.api.options import Options
from llgrad.autodiff.requests.request import Mode
from llgrad.errors import ArgumentError, at_the_caller
from llgrad.execution.library import ForeignFunction

REVERSE_COST = 1.5  # a reverse sweep costs about so many forward sweeps (measured: 1.3 to 1.8)


class Jacobian:
    """Call it with the function's arguments: the derivative of every output by every input. Made by `jacobian`."""

    def __init__(
        self, function: ForeignFunction, wrt: Names, of: Names, mode: str | None, **options: Unpack[Options]
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
        """The Jacobian by each parameter in `wrt`: an array of the output's shape, then the parameter's.

        Of several outputs: a tuple for each.
        """
        one = self.forward
        values = one.function.values(args, named)
        inputs = [_shape(values[n], one.signature.parameters[n].name) for n in one.wrt]
        outputs = [() if n is None else _shape(values[n], one.signature.parameters[n].name) for n in one.outputs]
        sizes, rows = [_size(s) for s in inputs], [_size(s) for s in outputs]
        if self.mode == "forward" or (self.mode is None and sum(sizes) <= REVERSE_COST * sum(rows)):
            matrix, aux = self._by_columns(values, inputs, sizes, rows)
        else:
            matrix, aux = self._by_rows(values, outputs, sizes, rows)
        lines = []
        for line, output in zip(np.split(matrix, np.cumsum(rows)[:-1], axis=0), outputs, strict=True):
            parts = np.split(line, np.cumsum(sizes)[:-1], axis=1)
            found = tuple(p.reshape(output + s).copy() for p, s in zip(parts, inputs, strict=True))
            lines.append(found[0] if one.single else found)
        return one.with_aux(lines[0] if one.one_output else tuple(lines), aux)

    def __repr__(self) -> str:
        return repr(self.forward)

    def _by_columns(
        self, values: Sequence[Any], shapes: Sequence[tuple[int, ...]], sizes: Sequence[int], rows: Sequence[int]
    ) -> tuple[Any, Any]:
        """A tangent for each input."""
        _, found, aux = self.forward.run_many(values, sum(sizes), lambda k: _unit_of(shapes, sizes, k))
        return np.array([_flat(t, self.forward.one_output) for t in found]).reshape(sum(sizes), sum(rows)).T, aux

    def _by_rows(
        self, values: Sequence[Any], shapes: Sequence[tuple[int, ...]], sizes: Sequence[int], rows: Sequence[int]
    ) -> tuple[Any, Any]:
        """A seed for each output."""
        _, found, aux = self.reverse.run_many(values, sum(rows), lambda k: _unit_of(shapes, rows, k))
        return np.array([_flat(g, self.reverse.single) for g in found]).reshape(sum(rows), sum(sizes)), aux


@dispatched
def jacobian(
    function: ForeignFunction, wrt: Names = None, of: Names = None, *, mode: str | None = None,
    **options: Unpack[Options],
) -> Jacobian:  # fmt: skip
    """A function that returns the dense Jacobian: an array of the output's shape followed by the parameter's.

    wrt    a name or position, or a tuple of them (then a tuple comes back); by default all floats only read
    of     the pointer through which the function writes its result; by default its returned float
    mode   "forward" or "reverse"; by default what needs fewer sweeps
    options  see `options.Options`

    Arrays that the function writes hold, after the call, what one run writes. Raises as `value_and_grad`.
    """
    return Jacobian(function, wrt, of, mode, **options)


def _shape(value: Any, name: str) -> tuple[int, ...]:
    if value is None:
        raise ArgumentError(f"argument {name!r} is None, but its derivative is wanted")
    require_real(value, name, "Jacobian", "vjp or jvp")
    return np.shape(value)


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def _flat(found: Any, single: bool) -> Any:
    return np.concatenate([np.reshape(f, -1) for f in ([found] if single else found)])


def _unit_of(shapes: Sequence[tuple[int, ...]], sizes: Sequence[int], k: int) -> Direction:
    """One at element `k` of all, else zero."""
    found: Direction = [None] * len(shapes)
    for n, size in enumerate(sizes):
        if 0 <= k < size:
            found[n] = _unit(shapes[n], k)
        k -= size
    return found


def _unit(shape: tuple[int, ...], k: int) -> Any:
    """One at element `k`, else zero."""
    if not shape:
        return 1.0
    made = np.zeros(shape)
    made.reshape(-1)[k : k + 1] = 1
    return made


__all__ = ["Jacobian", "jacobian"]
