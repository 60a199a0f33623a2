"""Reverse mode, forward mode and finite differences of one function, compared along random directions.

`check_grads` does so at arguments that the user gives, `compare` on random input.

Inputs: integers are 5 and floats uniform in [0.5, 1.5] unless a value is given; arrays have the length given, else
ample room for what the integers suggest; their floats are uniform in [0.5, 1.5], their integers zero. Along a direction
v, and for random weights w of the output, these must agree: ⟨Jᵀ w, v⟩ (reverse), ⟨w, J v⟩ (forward), and central
differences of order 6 of ⟨w, f⟩.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Unpack

import numpy as np
from msgspec import Struct

from llgrad.api.derivatives import Jvp, Vjp, jvp, vjp
from llgrad.api.names import Names
from llgrad.api.options import Options
from llgrad.api.second_order import hvp
from llgrad.errors import ArgumentError, UnknownNameError, UnsupportedError, at_the_caller
from llgrad.execution.library import ForeignFunction
from llgrad.signature import Array, Parameter, Pointer, Scalar, View

_LIMITS = {4: (1e-3, 3e-2, 2e-2), 8: (1e-9, 1e-6, 2e-3), 16: (1e-9, 1e-6, 2e-3)}  # forward, differences, step


class Row(Struct, frozen=True):
    """One direction."""

    reverse: float
    forward: float
    differences: float

    @property
    def forward_error(self) -> float:
        return _relative(self.reverse, self.forward)

    @property
    def difference_error(self) -> float:
        return _relative(self.reverse, self.differences)


class Comparison(Struct, frozen=True):
    """What was found, and the limits it was held to."""

    title: str
    rows: tuple[Row, ...]
    forward_limit: float
    difference_limit: float

    @property
    def finite(self) -> bool:
        """Is the function itself finite, and does it stay so nearby?"""
        return all(np.isfinite(r.differences) for r in self.rows)

    @property
    def good(self) -> bool:
        return all(
            r.forward_error <= self.forward_limit and r.difference_error <= self.difference_limit for r in self.rows
        )


def _relative(a: float, b: float) -> float:
    if not (np.isfinite(a) and np.isfinite(b)):
        return float("inf")
    return abs(a - b) / max(abs(a), abs(b), 1e-8)


def compare(
    function: ForeignFunction, wrt: Names, of: str | None, sizes: dict[str, float], directions: int = 3, seed: int = 0
) -> Comparison:
    """Compare derivatives of `function` along random directions."""
    rng = np.random.default_rng(seed)
    names = [p.name for p in function.signature.parameters]
    if unknown := [n for n in sizes if n not in names]:
        raise UnknownNameError(f"--size names no parameter: {', '.join(unknown)}", fix=f"there are {', '.join(names)}")
    inputs = random_inputs(function, sizes, rng)
    pull, push = vjp(function, wrt, of), jvp(function, wrt, of)
    least = min(_float_bytes(function.signature.parameters[n]) for n in pull.wrt)
    forward_limit, difference_limit, step = _LIMITS[least]
    weights = rng.uniform(0.5, 1.5, np.shape(inputs[pull.of])) if pull.of is not None else 1.0
    rows = []
    for _ in range(directions):
        along = [_direction(inputs[n], rng) for n in pull.wrt]
        differences = _differences(function, inputs, pull.wrt, pull.of, along, weights, step)
        rows.append(Row(_pulled(pull, inputs, along, weights), _pushed(push, inputs, along, weights), differences))
    return Comparison(str(function.signature), tuple(rows), forward_limit, difference_limit)


def random_inputs(function: ForeignFunction, sizes: dict[str, float], rng: np.random.Generator) -> list[Any]:
    """Random arguments for a function."""
    parameters = function.signature.parameters
    integers = [int(sizes.get(p.name, 5)) for p in parameters if isinstance(p.type, Scalar) and p.type.kind != "float"]
    ample = max(64, 4 * prod(max(n, 1) for n in integers))
    return [_input(p, sizes.get(p.name), ample, rng) for p in parameters]


def _input(p: Parameter, size: float | None, ample: int, rng: np.random.Generator) -> Any:
    if isinstance(p.type, Scalar) and p.type.kind == "float":
        return float(rng.uniform(0.5, 1.5)) if size is None else float(size)
    if size is not None and size != int(size):
        raise ArgumentError(f"--size {p.name}={size} is neither a length nor an integer", fix="give a whole number")
    size = None if size is None else int(size)
    if isinstance(p.type, Scalar):
        return (1 if p.type.kind == "bool" else 5) if size is None else size
    dtype = p.type.dtype if isinstance(p.type, Pointer) else None
    if dtype is None or dtype.names is not None or dtype.kind not in "fiub":
        raise UnsupportedError(f"random input for {p.type.declare(p.name)} cannot be made", fix="check from Python")
    count = ample if size is None else size
    if isinstance(p.type, Pointer) and isinstance(p.type.to, Array):
        group = max(prod(max(d, 1) for d in p.type.to.dims), 1)
        count = -(-count // group) * group
    rank = p.type.rank if isinstance(p.type, View) else None  # which knows its shape: as long in all directions
    shape = (count,) if rank is None else (5 if size is None else size,) * rank
    return rng.uniform(0.5, 1.5, shape).astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype)


def _float_bytes(p: Parameter) -> int:
    return min((n for n in _float_sizes(p.type.dtype) if n in _LIMITS), default=8)


def _float_sizes(dtype: np.dtype[Any] | None) -> Iterator[int]:
    """Bytes of the floats in a type."""
    dtype = dtype.base if dtype is not None else None
    if dtype is not None and dtype.names is not None:
        for name in dtype.names:
            yield from _float_sizes(dtype[name])
    elif dtype is not None and dtype.kind in "fc":
        yield dtype.itemsize // (2 if dtype.kind == "c" else 1)


def _fields(value: np.ndarray[Any, Any]) -> Iterator[str]:
    """The members of structs that hold floats."""
    return (n for n in value.dtype.names or () if any(True for _ in _float_sizes(value.dtype[n])))


def _direction(value: Any, rng: np.random.Generator) -> Any:
    if not isinstance(value, np.ndarray):
        return float(rng.uniform(-1, 1))
    if value.dtype.names is not None:
        made = np.zeros_like(value)
        for name in _fields(value):
            made[name] = _direction(value[name], rng)
        return made
    turned = np.exp(1j * rng.uniform(0, 6, value.shape)) if value.dtype.kind == "c" else 1.0
    return np.asarray(rng.uniform(-1, 1, value.shape) * turned, value.dtype)


def _inner(a: Any, b: Any) -> float:
    """The inner product of numbers and arrays as vectors of real numbers."""
    if isinstance(a, np.ndarray) and a.dtype.names is not None:
        return sum(_inner(a[name], b[name]) for name in _fields(a))
    return float(np.sum(np.real(np.conj(a) * b)))


def _shifted(value: Any, h: float, along: Any) -> Any:
    if not isinstance(along, np.ndarray):
        return value + h * along
    if along.dtype.names is None:
        return np.asarray(value + h * along, along.dtype)
    made = value.copy()
    for name in _fields(value):
        made[name] = _shifted(value[name], h, along[name])
    return made


def _copies(inputs: list[Any]) -> list[Any]:
    return [v.copy() if isinstance(v, np.ndarray) else v for v in inputs]


def _pulled(pull: Vjp, inputs: list[Any], along: list[Any], weights: Any) -> float:
    """⟨Jᵀ w, v⟩, by reverse mode."""
    _, found = pull(*_copies(inputs), seed=weights)
    return sum(_inner(g, v) for g, v in zip([found] if pull.single else found, along, strict=True))


def _pushed(push: Jvp, inputs: list[Any], along: list[Any], weights: Any) -> float:
    """⟨w, J v⟩, by forward mode."""
    _, tangent = push(*_copies(inputs), tangents=along[0] if push.single else along)
    return _inner(weights, np.asarray(tangent))


def _moved(inputs: list[Any], wrt: Sequence[int], along: list[Any], h: float) -> list[Any]:
    """Copies of the inputs, those in `wrt` moved along a direction."""
    moved = _copies(inputs)
    for n, v in zip(wrt, along, strict=True):
        moved[n] = _shifted(moved[n], h, v)
    return moved


def _differences(
    function: ForeignFunction, inputs: list[Any], wrt: tuple[int, ...], of: int | None, along: list[Any], weights: Any,
    step: float,
) -> float:  # fmt: skip
    def at(h: float) -> float:
        moved = _moved(inputs, wrt, along, h)
        result = function(*moved)
        return _inner(np.asarray(weights, np.float64), result if of is None else moved[of])

    return float(_central(at, step))


def _central(at: Callable[[float], Any], step: float) -> Any:
    """The slope of `at` at 0, by central differences of order 6."""
    one, two, three = (at(n * step) - at(-n * step) for n in (1, 2, 3))
    return (45 * one - 9 * two + three) / (60 * step)


@at_the_caller
def check_grads(
    function: ForeignFunction, args: Sequence[Any], order: int = 1, modes: Sequence[str] = ("fwd", "rev"), *,
    wrt: Names = None, of: Names = None, tolerance: float | None = None, directions: int = 2,
    seed: int = 0, **options: Unpack[Options],
) -> None:  # fmt: skip
    """Compare derivatives of `function` at `args` with central differences of order 6, along random directions.

    args       what the function takes; they are copied
    order      1: first derivatives; 2: also Hessian-vector products, with differences of gradients
    modes      "fwd" (`jvp`) and "rev" (`vjp`)
    wrt, of    as in `value_and_grad`, and so are `options`
    tolerance  largest relative difference; by default 1e-6 for doubles and 3e-2 for floats, at order 2 ten times that
    directions, seed  how many random directions, and what makes them

    Raises AssertionError that names the mode, the order and the numbers that differ; else as `value_and_grad`.
    """
    if order not in (1, 2) or not set(modes) <= {"fwd", "rev"} or not modes:
        raise ArgumentError(f"order={order!r}, modes={modes!r}", fix='1 or 2, and ("fwd", "rev") or one of them')
    rng = np.random.default_rng(seed)
    options.pop("has_aux", None)
    pull, push = vjp(function, wrt, of, **options), jvp(function, wrt, of, **options)
    if not pull.one_output:
        raise ArgumentError(f"check_grads compares one output, not {len(pull.outputs)}", fix="call it for each")
    values = pull.function.values(args)
    least = min(_float_bytes(function.signature.parameters[n]) for n in pull.wrt)
    _, limit, step = _LIMITS[least]
    limit = limit if tolerance is None else tolerance
    weights = rng.uniform(0.5, 1.5, np.shape(values[pull.of])) if pull.of is not None else 1.0
    for _ in range(directions):
        along = [_direction(values[n], rng) for n in pull.wrt]
        wanted = _differences(function, values, pull.wrt, pull.of, along, weights, step)
        if "fwd" in modes:
            _require_near("forward mode", _pushed(push, values, along, weights), wanted, limit)
        if "rev" in modes:
            _require_near("reverse mode", _pulled(pull, values, along, weights), wanted, limit)
        if order == 2:
            _check_second(pull, values, along, weights, step, 10 * limit, options)


def _check_second(
    pull: Vjp, values: list[Any], along: list[Any], weights: Any, step: float, limit: float, options: Options
) -> None:
    """A product of the Hessian, and differences of gradients along the same direction."""
    way: Any = along[0] if pull.single else tuple(along)
    second = hvp(pull.function, pull.wrt[0] if pull.single else pull.wrt, pull.of, **options)
    seed = {} if pull.of is None else {"seed": weights}
    found = second(*_copies(values), way, **seed)

    def at(h: float) -> Any:
        _, gradients = pull(*_moved(values, pull.wrt, along, h), seed=weights)
        return np.concatenate([_flat(g) for g in ([gradients] if pull.single else gradients)])

    product = np.concatenate([_flat(p) for p in ([found] if pull.single else found)])
    wanted = _central(at, step)
    error = float(np.linalg.norm(product - wanted)) / max(float(np.linalg.norm(wanted)), 1e-8)
    if not error <= limit:
        raise AssertionError(f"second order: a product of the Hessian is {product}, by differences {wanted}")


def _flat(g: Any) -> Any:
    """The floats of a gradient as one vector."""
    if isinstance(g, np.ndarray) and g.dtype.names is not None:
        return np.concatenate([np.zeros(0), *(_flat(g[name]) for name in _fields(g))])
    return np.ravel(g)


def _require_near(mode: str, found: float, wanted: float, limit: float) -> None:
    if not _relative(found, wanted) <= limit:
        raise AssertionError(f"{mode}: the derivative along a random direction is {found}, by differences {wanted}")
