"""Solvers as operations on tensors, whose derivatives are those of implicit functions, to second order.

The forward pass runs the solver. The backward pass solves the adjoint's linear system at the solution that was found;
it does not solve again. See docs/implicit.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from llgrad.api.directions import packed
from llgrad.api.implicit import Implicit, ImplicitDerivative, Point
from llgrad.foreign import ForeignTypeError


def implicit(function: Implicit) -> Callable[..., Any]:
    """A solver that `llgrad.implicit` or `llgrad.fixed_point` made, as a function of tensors.

    Parameters that the residual knows may be tensors, and have derivatives then; all others are passed as they are.
    """
    if not isinstance(function, Implicit):
        raise ForeignTypeError(
            f"implicit takes a solver, not {type(function).__name__}", fix="@llgrad.implicit(residual=…, unknown=…)"
        )

    def call(*args: Any, **named: Any) -> Any:
        given = function.bound(args, named)
        names = [n for n in function.names(function.wrt) if isinstance(given.get(n), Tensor)]
        rest = {n: _array(v) if isinstance(v, Tensor) else v for n, v in given.items() if n not in names}
        return _Solution.apply(function, rest, tuple(names), *(given[n] for n in names))

    call.__doc__ = repr(function)
    return call


class _Solution(torch.autograd.Function):
    """u(p)"""

    @staticmethod
    def forward(ctx: Any, function: Implicit, rest: dict[str, Any], names: tuple[str, ...], *tensors: Tensor) -> Any:
        arguments = {**rest, **dict(zip(names, map(_array, tensors), strict=True))}
        value, aux, known = function.solved((), arguments)
        ctx.made = (function, value, known, names)
        ctx.save_for_backward(*tensors)
        parts = [value] if function.single else value
        found = tuple(torch.from_numpy(np.array(p)) for p in parts)
        if function.has_aux:
            return (*found, aux)
        return found[0] if function.single else found

    @staticmethod
    def backward(ctx: Any, *adjoints: Any) -> Any:
        function, value, known, names = ctx.made
        derivative = ImplicitDerivative(function, "vjp", names, None, False)
        tensors = ctx.saved_tensors  # an error if they were changed
        at = Point(function, value, known, derivative.wrt)
        given = adjoints[: len(at.shapes)]
        return None, None, None, *_Pulled.apply(derivative, at, len(tensors), *tensors, *given)


class _Pulled(torch.autograd.Function):
    """The adjoints of p, linear in those of u."""

    @staticmethod
    def forward(ctx: Any, derivative: ImplicitDerivative, at: Point, count: int, *given: Tensor) -> Any:
        y = at.adjoint.solve(packed([g.detach().numpy() for g in given[count:]]))
        ctx.made = (derivative, at, y)
        ctx.save_for_backward(*given)
        return _like([-np.asarray(g) for g in at.pull_p(y)], given[:count])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *along: Any) -> Any:
        derivative, at, y = ctx.made
        way = [_array(a) for a in along]
        by_p = derivative.bend(at, y, way)
        by_u = at.unpacked(derivative.push(at, way))
        return None, None, None, *_like([*by_p, *by_u], ctx.saved_tensors)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().numpy()[()]


def _like(found: Sequence[Any], tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    pairs = zip(found, tensors, strict=True)
    return tuple(torch.as_tensor(np.array(f), dtype=t.dtype).reshape(t.shape) for f, t in pairs)


__all__ = ["implicit"]
