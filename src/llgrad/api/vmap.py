"""Batches: `vmap` runs a foreign function, or a derivative of one, on every element of a batch, over threads.

Foreign code runs without the interpreter's lock, and each thread has a tape of its own. Every element is a call like
any other: checked, and with its own results.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any, TypeAlias

import numpy as np

from llgrad.api.derivatives import Derivative, Grad, Jvp, ValueAndGrad, Vjp
from llgrad.api.jacobian import Jacobian
from llgrad.api.per_values import PerValues
from llgrad.api.second_order import Hessian, Hvp
from llgrad.errors import ArgumentError, at_the_caller
from llgrad.execution.library import ForeignFunction
from llgrad.signature import Parameter, Pointer, Scalar, Void

Made: TypeAlias = "ValueAndGrad | Grad | Vjp | Jvp | Hvp | Hessian | Jacobian"
Batchable: TypeAlias = "ForeignFunction | Made | PerValues | Batched"
KEYWORDS = ("seed", "tangents", "direction")


class Batched:
    """Call it with the arguments of the function, those in `over` with one axis more in front. Made by `vmap`."""

    def __init__(self, function: Batchable, over: str | int | Sequence[str | int], threads: int | None) -> None:
        self.function = function
        self.foreign = _foreign(function)
        self.parameters = [p.name for p in self.foreign.signature.parameters]
        listed = (over,) if isinstance(over, str | int) else tuple(over)
        self.over = tuple(dict.fromkeys(self._key(o) for o in listed))
        if not self.over:
            raise ArgumentError("over is empty", fix="name the parameters that have a batch axis")
        if threads is not None and threads < 1:
            raise ArgumentError(f"threads={threads} is no number of threads", fix="leave it out: one a core")
        self.threads = threads
        self.__signature__ = inspect.signature(function)

    @at_the_caller
    def __call__(self, *args: Any, **named: Any) -> Any:
        """The results, each with the batch axis in front; what the function writes goes into the arrays given."""
        given: dict[str | int, Any] = dict(enumerate(args))
        given.update(named)
        at = [self._at(key, len(args), given) for key in self.over]
        batch = [_batch(given[k], str(o)) for k, o in zip(at, self.over, strict=True)]
        lengths = {str(o): len(b) for o, b in zip(self.over, batch, strict=True)}
        count = next(iter(lengths.values()))
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{o} has {n}" for o, n in lengths.items())
            raise ArgumentError(f"batches of {self.foreign.signature.name} differ: {shown}")

        if not count:
            return self._of_none()
        own = self._written(given) - set(at)

        def element(k: int) -> Any:
            chosen = {**given, **{place: deepcopy(given[place]) for place in own}}
            chosen.update({place: _element(b, k) for place, b in zip(at, batch, strict=True)})
            try:
                return self.function(
                    *(chosen[n] for n in range(len(args))), **{n: v for n, v in chosen.items() if isinstance(n, str)}
                )
            except Exception as error:
                error.add_note(f"(element {k} of the batch)")
                raise

        return _stacked(self._run(element, count), _dtypes(self.function))

    def _run(self, element: Any, count: int) -> list[Any]:
        cores = self.threads or os.cpu_count() or 1
        parts = 1 if self.foreign.library.effects(self.foreign.signature.symbol).stateful else min(cores, count)
        if parts <= 1:
            return [element(k) for k in range(count)]
        ends = [count * n // parts for n in range(parts + 1)]
        stopped = threading.Event()

        def some(a: int, b: int) -> list[Any]:
            return [element(k) for k in range(a, b) if not stopped.is_set()]

        with ThreadPoolExecutor(parts) as pool:
            pieces = [pool.submit(some, a, b) for a, b in zip(ends, ends[1:], strict=False)]
            try:
                return [found for piece in pieces for found in piece.result()]
            except BaseException:  # of an element, or Ctrl-C: no thread begins another
                stopped.set()
                raise

    def _of_none(self) -> Any:
        """What a batch without elements gives: only numbers have a shape that is known then."""
        result = self.foreign.signature.result
        if isinstance(self.function, ForeignFunction):
            return None if isinstance(result, Void) else np.zeros(0, result.dtype)
        raise ArgumentError(
            f"the batch of {self.foreign.signature.name} is empty",
            cause="nothing says what shape the derivatives of its elements would have",
            fix="leave the call out where there is nothing to do",
        )

    def _written(self, given: dict[str | int, Any]) -> set[str | int]:
        """Where a call has what the function may write."""
        pointers = {p.name: p.type for p in self.foreign.signature.parameters if isinstance(p.type, Pointer)}
        written = {n for n, t in pointers.items() if not t.innermost.const}
        return {self._at(n, 0, given) for n in written if n in given or self.parameters.index(n) in given}

    def __repr__(self) -> str:
        return f"<vmap over {', '.join(map(str, self.over))}: {self.function!r}>"

    def _key(self, name: str | int) -> str | int:
        """A name as it is, a position as the name of the parameter there; what comes after those stays a position."""
        if isinstance(name, str):
            if name not in KEYWORDS:
                self.foreign.signature.parameter(name)  # or an error that suggests names
            return name
        return self.parameters[name] if 0 <= name < len(self.parameters) else name

    def _at(self, key: str | int, count: int, given: dict[str | int, Any]) -> str | int:
        """Where a call has the argument: by name, or at a position."""
        place = key
        if key not in given:
            place = self.parameters.index(key) if key in self.parameters else key
            place = place + count if isinstance(place, int) and place < 0 else place
        if place not in given:
            raise ArgumentError(f"{self.foreign.signature.name} is called without {key}, which has a batch axis")
        return place


def vmap(function: Batchable, over: str | int | Sequence[str | int], *, threads: int | None = None) -> Batched:
    """A function that runs `function` on every element of a batch, over threads, and stacks what it returns.

    function  a foreign function, or what `value_and_grad`, `grad`, `vjp`, `jvp`, `jacobian`, `hvp`, `hessian` or `vmap`
              made
    over      names or positions of the parameters whose arguments have one axis more, in front. "seed" and "tangents"
              are names, too; -1 is the last argument (the direction of `hvp`)
    threads   how many at most; by default one a core. Functions that change variables of their own run on one

    Ctrl-C, or an exception in an element, ends a batch when the elements that have begun are done.
    What the function may write and `over` does not name is a new copy for each element.

    Raises as the function does, with the element's number, and ArgumentError where batches differ in length, or where
    that of a derivative is empty.
    """
    return Batched(function, over, threads)


def _foreign(function: Any) -> ForeignFunction:
    match function:
        case ForeignFunction():
            return function
        case Batched():
            return function.foreign
        case Jacobian():
            return function.forward.function
        case Derivative() | PerValues():
            return function.function
    raise ArgumentError(
        f"vmap takes a function of a library or a derivative of one, not {type(function).__name__}",
        fix="llgrad.vmap(llgrad.value_and_grad(lib.f), over=\"x\")",
    )


def _batch(value: Any, name: str) -> Any:
    if not hasattr(value, "__len__") or not np.ndim(value):
        raise ArgumentError(f"{name} has no batch axis: it is {type(value).__name__}", fix="give it one axis more")
    return value


def _element(batch: Any, k: int) -> Any:
    """One of a batch, in its memory: a number that is passed by reference may be written."""
    return batch[k, ...] if isinstance(batch, np.ndarray) else batch[k]


_DTypes: TypeAlias = "np.dtype[Any] | tuple[_DTypes, ...] | None"


def _dtypes(function: Any) -> _DTypes:
    """What the numbers are in C that a call returns as Python's; None where it returns arrays, or nothing is known."""
    match function:
        case ForeignFunction():
            result = function.signature.result
            return result.dtype if isinstance(result, Scalar) else None
        case Batched():
            return _dtypes(function.function)
        case Hvp() | Grad():
            return _with_aux(function, _of_gradient(function))
        case ValueAndGrad():
            return _with_aux(function, _of_value(function)), _of_gradient(function)
        case Vjp():
            return _of_value(function), _of_gradient(function), *((None,) if function.has_aux else ())
        case Jvp():
            return _of_value(function), _of_value(function), *((None,) if function.has_aux else ())
    return None


def _with_aux(derivative: Derivative, found: _DTypes) -> _DTypes:
    return (found, None) if derivative.has_aux else found


def _of_value(derivative: Derivative) -> _DTypes:
    parameters, returned = derivative.signature.parameters, _dtypes(derivative.function)
    found = tuple(returned if n is None else _of_parameter(parameters[n]) for n in derivative.outputs)
    return found[0] if derivative.one_output else found


def _of_gradient(derivative: Derivative) -> _DTypes:
    found = tuple(_of_parameter(derivative.signature.parameters[n]) for n in derivative.wrt)
    return found[0] if derivative.single else found


def _of_parameter(parameter: Parameter) -> _DTypes:
    return parameter.type.dtype if isinstance(parameter.type, Scalar | Pointer) else None


def _stacked(found: Sequence[Any], dtypes: _DTypes) -> Any:
    """What many calls returned, as one: tuples of arrays with one axis more."""
    if not found or found[0] is None:
        return None
    if isinstance(found[0], dict):
        return {name: _stacked([f[name] for f in found], None) for name in found[0]}
    if isinstance(found[0], tuple | list):
        several = dtypes if isinstance(dtypes, tuple) else (dtypes,) * len(found[0])
        parts = zip(zip(*found, strict=True), several, strict=True)
        return type(found[0])(_stacked(list(part), of) for part, of in parts)
    if isinstance(found[0], bool | int | float) and isinstance(dtypes, np.dtype):
        return np.array(found, dtypes)
    return np.stack([np.asarray(f) for f in found])


__all__ = ["Batched", "vmap"]
