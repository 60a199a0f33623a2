"""Second derivatives of foreign functions: `hvp` and `hessian`, by forward mode over reverse mode.

A Hessian-vector product is the directional derivative of the gradient: what `value_and_grad` would compile, derived
again by forward mode (`Request.again`). A Hessian takes several directions a sweep (`derivatives.LANES`) where all that
is differentiated by is in memory, else one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Unpack

import numpy as np
from msgspec.structs import replace

from llgrad.api.derivatives import LANES, Derivative, dispatched
from llgrad.api.directions import Direction, batch, fitted, require_real, require_same, stacked_each
from llgrad.api.names import Names
from llgrad.api.options import Options
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.errors import ArgumentError, at_the_caller
from llgrad.execution.entry import ARENA
from llgrad.execution.library import ForeignFunction
from llgrad.execution.passing import ADDRESSES, Table, parts, pieces
from llgrad.signature import Parameter, Scalar


class Second(Derivative):
    """The forward derivative of a gradient. Made by `hvp` and `hessian`."""

    def __init__(
        self, function: ForeignFunction, wrt: Names, of: Names, kind: str, seed: Any = None, **options: Unpack[Options]
    ) -> None:
        """Checks names; compiles when it is first called, for as many directions as are wanted then."""
        if options.get("nan") is not None:
            raise ArgumentError(f"nan= is for first derivatives, not for {kind}", fix="trace the gradient")
        super().__init__(function, Mode.COMBINED, wrt, of, kind, compile=False, seed=seed, **options)

    def request_for(self, disjoint: bool, width: int = 1) -> Request:
        """What synthesis is asked for: tangents of all that has a shadow, and of the floats in `wrt`."""
        gradient = replace(super().request_for(disjoint), primal_result=False)
        acts = [Act.CONST] + [a for p in self.signature.parameters for a in self._acts(p)]
        acts += [Act.CONST] * (gradient.result is Act.OUT)
        result = Act.DUP if Act.OUT in self.acts else Act.CONST
        more = {**self.flags, "checkpoint": (), "disjoint": disjoint, "width": width}
        return Request.again(gradient, Mode.FORWARD, tuple(acts), result, **more)

    def _acts(self, p: Parameter) -> Iterator[Act]:
        act = self.acts[p.index]
        for part in parts(p.type):
            yield Act.CONST if act is Act.CONST or part not in ADDRESSES else Act.DUP
            if act is Act.DUP and part in ADDRESSES:
                yield Act.DUP

    # --- calling

    def products(
        self, values: Sequence[Any], seeds: Direction | None, count: int, direction: Callable[[int], Direction]
    ) -> tuple[list[Any], Any]:
        """The Hessian times each of `count` directions, and what else the function computes."""
        disjoint = self._disjoint(values)
        most = 1 if Act.OUT in self.acts else LANES
        width = min(most, 1 << (max(count, 1) - 1).bit_length())
        returned = self._returned(values)
        before = [v.copy() if count > width and self._may_write(n, v) else None for n, v in enumerate(values)]
        found: list[Any] = []
        changing = count > width and self.function.library.effects(self.signature.symbol).stateful
        first = self._tried(values) if changing else []
        for start in range(0, count, width):
            for v, old in zip(values, before, strict=True):
                if start and old is not None:
                    v[...] = old
            given = [direction(min(k, count - 1)) for k in range(start, start + width)]
            found += self._products(values, seeds, given, disjoint)
        for one, other in zip(first, self._tried(values, before) if changing else [], strict=True):
            require_same(self.signature.name, one, other)
        return found[:count], self.aux(values, returned)

    def _returned(self, values: Sequence[Any]) -> list[Any]:
        """For `aux`: what the function returns, which second derivatives do not."""
        if not self.has_aux or None in self.outputs or not isinstance(self.signature.result, Scalar):
            return []
        return [self.function(*(v.each(np.copy) if isinstance(v, Table) else copy(v) for v in values))]

    def _tried(self, values: Sequence[Any], before: Sequence[Any] = ()) -> list[Any]:
        """What one run of the function gives, on copies; of arrays that it writes, their contents before count."""
        given = [v if old is None else old for v, old in zip(values, before, strict=True)] if before else values
        copies = [v.each(np.copy) if isinstance(v, Table) else copy(v) for v in given]
        result = self.function(*copies)
        written = [v for n, v in enumerate(copies) if isinstance(v, np.ndarray) and v.dtype.kind == "f"]
        return written if result is None else [result, *written]

    def _products(
        self, values: Sequence[Any], seeds: Direction | None, directions: Sequence[Direction], disjoint: bool
    ) -> list[Any]:
        """One sweep: for each direction, what it finds."""
        shadows = self._shadows(values, seeds)
        tangents = [self._lane(values, d) for d in directions]
        duplicated = [a is Act.DUP for a in self.acts]
        adjoints = [[self._cleared(n, v) if duplicated[n] else None for n, v in enumerate(values)] for _ in tangents]
        passed: list[Any] = [ARENA]
        for n, p in enumerate(self.signature.parameters):
            passed += self._passed(p, values[n], [t[n] for t in tangents], shadows[n], [a[n] for a in adjoints])
        if self.result is Act.OUT:
            passed.append(self._result_seed(seeds))
        compiled = self._compiled(disjoint, len(tangents))
        results, self._peak = compiled.code.call(compiled.entry, passed, self._tests[disjoint, len(tangents)])
        return [self._found(lane, results) for lane in adjoints]

    def _passed(
        self, p: Parameter, value: Any, tangents: Sequence[Any], shadow: Any, adjoints: Sequence[Any]
    ) -> Iterator[Any]:
        """What the entry takes for one parameter: it, its tangents, its shadow, the shadow's tangents."""
        act, of_value = self.acts[p.index], pieces(p, value)
        beside = [pieces(p, t) for t in tangents] if act is not Act.CONST else []
        of_shadow = pieces(p, shadow) if act is Act.DUP else []
        below = [pieces(p, a) for a in adjoints] if act is Act.DUP else []
        for n, part in enumerate(parts(p.type)):
            yield of_value[n]
            if part in ADDRESSES and act is not Act.CONST:
                yield from (t[n] for t in beside)
                if act is Act.DUP:
                    yield from (of_shadow[n], *(a[n] for a in below))

    def _lanes(self, act: Act, width: int) -> int:
        return 0 if act is Act.CONST else width + (1 + width) * (act is Act.DUP)

    def _lane(self, values: Sequence[Any], direction: Direction) -> list[Any]:
        """The tangent of each parameter's value: the direction for those in `wrt`, else zero."""
        found = [self._cleared(n, v) if self.acts[n] is not Act.CONST else None for n, v in enumerate(values)]
        for n, d in zip(self.wrt, direction, strict=True):
            if d is not None:
                found[n] = fitted(values[n], d, "direction", self._name(n))
        return found

    def _found(self, adjoints: Sequence[Any], results: Sequence[Any]) -> Any:
        scalars = iter(results)
        returned = {n: next(scalars) for n, act in enumerate(self.acts) if act is Act.OUT}
        found = tuple(returned[n] if n in returned else self._adjoint(n, adjoints[n]) for n in self.wrt)
        return found[0] if self.single else found


class Hvp(Second):
    """Call it with the function's arguments and then a direction: the Hessian times it."""

    @at_the_caller
    def __call__(
        self, *args: Any, direction: Any = None, tangents: Any = None, seed: Any = None, **named: Any
    ) -> Any:
        """The direction has the shape of what `wrt` names (a tuple, if that is one); with one axis more it is a batch.

        It is the last argument, where neither `direction` nor `tangents`, which mean the same, names it.
        """
        direction = tangents if direction is None else direction
        given, direction = self._apart(args, named) if direction is None else (args, direction)
        along = self.tangents(direction, "direction")
        values = self.function.values(given, named)
        several = batch([values[n] for n in self.wrt], along)
        ways = [along] if several is None else several
        found, aux = self.products(values, self.seeds(seed), len(ways), ways.__getitem__)
        return self.with_aux(found[0] if several is None else stacked_each(found, self.single), aux)

    def _apart(self, args: Sequence[Any], named: dict[str, Any]) -> tuple[Sequence[Any], Any]:
        """The arguments of the function, and the direction behind them."""
        given, whole = len(args) + len(named), len(self.signature.parameters)
        fewest = len(self.function.roles.inputs) if given < whole and self.function.roles else whole
        if given <= fewest or given == whole != fewest + 1:
            raise ArgumentError(
                f"{self.__name__} is called without a direction", cause=f"its signature is {inspect.signature(self)}",
                fix="pass it last, behind the arguments of the function",
            )  # fmt: skip
        return args[:-1], args[-1]


class Hessian(Second):
    """Call it with the function's arguments: all second derivatives."""

    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, **named: Any) -> Any:
        """An array of the shape of the parameter, twice; for a tuple `wrt` a tuple of tuples of such."""
        values = self.function.values(args, named)
        shapes = [self._shape(n, values[n]) for n in self.wrt]
        ends = np.cumsum([0, *(int(np.prod(s, dtype=int)) for s in shapes)])
        size = int(ends[-1])

        def direction(k: int) -> Any:
            flat = np.zeros(size)
            flat[k : k + 1] = 1
            return [flat[a:b].reshape(s) if s else flat[a] for a, b, s in zip(ends, ends[1:], shapes, strict=False)]

        products, aux = self.products(values, self.seeds(seed), size, direction)
        columns = [[c] if self.single else c for c in products]
        flat = [np.concatenate([np.reshape(part, -1) for part in column]) for column in columns]
        matrix = np.array(flat).reshape(size, size).T
        rows = [np.split(m, ends[1:-1], axis=1) for m in np.split(matrix, ends[1:-1], axis=0)]
        blocks = tuple(
            tuple(b.reshape(a + c).copy() for b, c in zip(row, shapes, strict=True))
            for row, a in zip(rows, shapes, strict=True)
        )
        return self.with_aux(blocks[0][0] if self.single else blocks, aux)

    def _shape(self, n: int, value: Any) -> tuple[int, ...]:
        if value is None:
            raise ArgumentError(f"argument {self._name(n)!r} is None, but its derivative is wanted")
        require_real(value, self._name(n), "Hessian", "hvp")
        return np.shape(value)


@dispatched
def hvp(
    function: ForeignFunction, wrt: Names = None, of: Names = None, seed: Any = None, **options: Unpack[Options]
) -> Hvp:
    """A function that takes the arguments and, last, a direction v, and returns the Hessian times v.

    wrt   a name or position, or a tuple of them (then v is a tuple, and a tuple comes back)
    of    the pointer through which the function writes its result; by default its returned float
    options  see `options.Options`

    `seed=`, here or at the call, weighs the elements of `of`, as in `value_and_grad`. Raises as that does.
    """
    return Hvp(function, wrt, of, "hvp", seed=seed, **options)


@dispatched
def hessian(
    function: ForeignFunction, wrt: Names = None, of: Names = None, seed: Any = None, **options: Unpack[Options]
) -> Hessian:
    """A function that returns the dense Hessian: an array of the parameter's shape, twice; see `hvp`.

    By several parameters: a tuple of tuples of such blocks, H[i][j] by the i-th and the j-th.
    """
    return Hessian(function, wrt, of, "hessian", seed=seed, **options)


__all__ = ["Hessian", "Hvp", "hessian", "hvp"]
