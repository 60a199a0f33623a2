"""`nan="trace"`: the place in the source where a derivative stopped being finite, as an error.

A call runs as usual. Only where its derivative is not finite, the derivative is compiled once more, with a test behind
each tangent and each part of an adjoint (`autodiff.emit.non_finite`), and run again on what the call was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from llgrad.autodiff.requests.request import Request
from llgrad.errors import ArgumentError, NonFiniteError
from llgrad.execution.library import ForeignFunction
from llgrad.execution.passing import Table, shaped
from llgrad.execution.tracing import Traced, traced


class Trace:
    """Looks at what calls of a derivative find, and tells where it stopped being finite."""

    def __init__(self, function: ForeignFunction, kind: str, nan: str) -> None:
        if nan != "trace":
            raise ArgumentError(f"nan={nan!r} is nothing that is done", fix='nan="trace", or leave it out')
        if function.library.isolated:
            raise ArgumentError('nan="trace" looks into this process', fix="load without isolate=True")
        self.function, self.kind = function, kind
        self._made: dict[Request, Traced] = {}

    def kept(self, passed: Sequence[Any]) -> list[Any]:
        """Copies of what a call is given, which it may change."""
        return [shaped(v, v) if isinstance(v, np.ndarray) else v for v in passed]

    def look(self, request: Request, kept: Sequence[Any], found: Iterable[Any], value: Callable[[], Any]) -> None:
        """NonFiniteError where not all that was `found` is finite. `value`: what the function gave."""
        if _is_finite(found):
            return
        if request not in self._made:
            self._made[request] = traced(self.function.library, request)
        made = self._made[request]
        made.compiled.code.call(made.compiled.entry, kept)
        (number,), _ = made.compiled.code.call(made.take, [])
        what = "tangent" if self.kind == "jvp" else "adjoint"
        cause = f"here the first {what} that is infinite or not a number arises"
        if not number:
            cause = "a seed, a tangent or code without debug info gives it: no line of the source computes it first"
        elif not _is_finite([value()]):
            cause += ", and the function itself gives one"
        raise NonFiniteError(
            f"the derivative of {self.function.signature.name} is not finite",
            span=made.places[number - 1] if number else self.function.signature.source, cause=cause,
            fix="differentiate at another point, or write the code so that it does not divide by zero there",
        )  # fmt: skip


def _is_finite(found: Iterable[Any]) -> bool:
    return all(_finite(v) for v in found)


def _finite(v: Any) -> bool:
    if isinstance(v, tuple | list):
        return _is_finite(v)
    if isinstance(v, Table):
        return _is_finite(r for r in v.rows if r is not None)
    if isinstance(v, np.ndarray) and v.dtype.names is not None:
        return _is_finite(v[name] for name in v.dtype.names)
    if isinstance(v, float | np.floating | np.ndarray) and np.asarray(v).dtype.kind in "fc":
        return bool(np.all(np.isfinite(v)))
    return True


__all__ = ["Trace"]
