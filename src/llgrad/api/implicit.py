"""Derivatives of what a solver returns, by the implicit function theorem: `implicit` and `fixed_point`.

Where r(u, p) = 0 defines u(p), with A = ∂r/∂u and B = ∂r/∂p at the solution:

    jvp      A u̇ = -B ṗ
    vjp      Aᵀ λ = w; the adjoint of p is -Bᵀ λ
    hvp      with (h_u, h_p) = D²(λᵀ r) (u̇, ṗ):  Aᵀ λ̇ = -h_u; the tangent of that adjoint is -h_p - Bᵀ λ̇

A fixed point u = g(u, p) is the root of u - g(u, p). A and B are never made: they are products by llgrad's derivatives
of the residual, but where there are few unknowns (`linear_solves`). See docs/implicit.md.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from llgrad.api.derivatives import Jvp, Vjp
from llgrad.api.directions import Direction, batch, element_count, listed, packed, stacked_each, unpacked
from llgrad.api.jacobian import Jacobian
from llgrad.api.linear_solves import METHODS, Product, System, Vector
from llgrad.api.names import Names, inputs_of, outputs_of, require_active, writable_floats, written_by
from llgrad.api.options import Options
from llgrad.api.second_order import Hvp
from llgrad.autodiff.requests.request import Mode
from llgrad.errors import ArgumentError, SolveError, at_the_caller
from llgrad.execution.library import ForeignFunction
from llgrad.signature import Array, Parameter, Pointer, Scalar, View

_ROUNDED = 100.0  # so many roundings of its terms may be left of the residual at a root
_NEWTON = 0.1  # relative residual of the linear solve that gives the Newton step


class How(Struct, frozen=True):
    """How linear systems are solved, and what is asked of a root; None: what fits the precision of the unknown."""

    solve: Callable[..., Any] | None = None
    solve_transposed: Callable[..., Any] | None = None
    method: str = ""
    linear_rtol: float | None = None
    iterations: int = 2000
    rtol: float | None = None
    atol: float = 0.0


class Implicit:
    """A solver whose derivatives are those of an implicit function. Made by `implicit` and `fixed_point`."""

    def __init__(
        self, solver: Callable[..., Any], residual: ForeignFunction, unknown: Names, of: Names, wrt: Names, how: How, *,
        given: Mapping[str, Any], has_aux: bool, fixed: bool, **options: Any,
    ) -> None:  # fmt: skip
        """`fixed`: the residual is u - g(u, p), and `residual` is g."""
        if not isinstance(residual, ForeignFunction):
            raise ArgumentError(f"the residual is a function of a library, not {type(residual).__name__}")
        if not callable(solver):
            raise ArgumentError(f"a solver can be called; this is {type(solver).__name__}")
        if how.method not in ("", *METHODS) or how.method == "iterate" and not fixed:
            raise ArgumentError(f"method={how.method!r} is no method here", fix=f"use one of {', '.join(METHODS)}")
        self.solver, self.residual, self.fixed, self.how = solver, residual, fixed, how
        self.given, self.has_aux, self.options = dict(given), has_aux, options
        if no := sorted(n for n in options if n not in Options.__annotations__ or n in ("argnums", "has_aux")):
            raise ArgumentError(f"an implicit function takes no option {no[0]!r}", fix="see docs/implicit.md")
        if unknown is None:
            raise ArgumentError("an implicit function has an unknown", fix="name it: unknown=…")
        written = [p.index for p in written_by(residual) if writable_floats(p)] if of is None else []
        returns = isinstance(residual.signature.result, Scalar) and residual.signature.result.kind == "float"
        self.outputs = outputs_of(residual, written[0] if len(written) == 1 and not returns else of)
        self.unknown, self.single = inputs_of(residual, unknown, self.outputs[0])
        for n in self.unknown:
            if not _is_real(residual.signature.parameters[n]):
                raise ArgumentError(
                    f"unknown={residual.signature.parameters[n].name!r} is no float and points to none",
                    cause=f"the residual is {residual.signature}",
                )
        self.signature = inspect.signature(solver)
        self.wrt, self.one = self.inputs(wrt)
        self._made: dict[Any, Any] = {}
        functools.update_wrapper(self, solver, updated=())

    @at_the_caller
    def __call__(self, *args: Any, **named: Any) -> Any:
        """What the solver returns."""
        value, aux, _ = self.solved(args, named)
        return (value, aux) if self.has_aux else value

    def __repr__(self) -> str:
        names = ", ".join(self.names(self.unknown))
        what = "fixed point of" if self.fixed else "root of"
        return f"<{names}, the {what} {self.residual.signature}>"

    def __llgrad__(self, kind: str, given: Mapping[str, Any]) -> ImplicitDerivative:
        """The derivative that a function of this name makes of others."""
        if given.get("of") is not None:
            raise ArgumentError(f"{kind} of an implicit function takes no of: its unknown is what is differentiated")
        known = ("wrt", "seed", "has_aux")
        if unknown := sorted(n for n, v in given.items() if n not in (*known, "of") and v is not None):
            raise ArgumentError(
                f"{kind} of an implicit function takes no {unknown[0]}", fix="give options to implicit(…) itself"
            )
        return ImplicitDerivative(self, kind, given.get("wrt"), given.get("seed"), bool(given.get("has_aux")))

    def names(self, positions: Sequence[int]) -> list[str]:
        """Names of parameters of the residual."""
        return [self.residual.signature.parameters[n].name for n in positions]

    def inputs(self, wrt: Names) -> tuple[tuple[int, ...], bool]:
        """The positions of `wrt` in the residual, and whether it names one alone."""
        open_ended = any(p.kind is p.VAR_KEYWORD for p in self.signature.parameters.values())
        own = {n for n, p in self.signature.parameters.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
        if wrt is None:
            every, _ = inputs_of(self.residual, None, self.outputs[0])
            free = [n for n in every if n not in self.unknown and self.names([n])[0] not in self.given]
            found = tuple(n for n in free if open_ended or self.names([n])[0] in own)
            if not found:
                raise ArgumentError(
                    f"{self.residual.signature.name} and the solver share no floats but the unknown",
                    cause=f"the solver's signature is {self.signature}", fix="name its parameters as the residual does",
                )  # fmt: skip
            return found, len(found) == 1
        names = [p.name for p in self.residual.signature.parameters]
        for name in [wrt] if isinstance(wrt, str | int) else wrt:
            if name in own and name not in names:
                raise ArgumentError(f"wrt={name!r} has no derivative: the residual has no such parameter")
        found, single = inputs_of(self.residual, wrt, self.outputs[0])
        for n, name in zip(found, self.names(found), strict=True):
            if n in self.unknown or not open_ended and name not in own:
                raise ArgumentError(f"wrt={name!r} is no parameter of the solver", cause=f"it takes {self.signature}")
        return found, single

    # --- the solver

    def solved(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        """The solution, what else the solver returns, and values of parameters by name."""
        unknown = self.names(self.unknown)
        if isinstance(self.solver, ForeignFunction):
            parameters = self.solver.signature.parameters
            values = self.solver.values(args, named)
            result = self.solver(*values)
            arguments = {p.name: v for p, v in zip(parameters, values, strict=True)}
            if all(n in arguments for n in unknown):
                return self._copied(arguments, unknown), result, arguments
            return result, None, arguments
        arguments = self.bound(args, named)
        result = self.solver(*args, **named)
        value, aux = result if self.has_aux else (result, None)
        if value is None and all(n in arguments for n in unknown):
            value = self._copied(arguments, unknown)
        return value, aux, arguments

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name, with those that have defaults."""
        compiled = isinstance(self.solver, ForeignFunction)
        try:
            bound = (self.signature.bind_partial if compiled else self.signature.bind)(*args, **named)
        except TypeError as error:
            raise ArgumentError(f"the solver of {', '.join(self.names(self.unknown))}: {error}") from error
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        for name, p in self.signature.parameters.items():
            if p.kind is p.VAR_KEYWORD:
                arguments.update(arguments.pop(name))
        return arguments

    def _copied(self, arguments: Mapping[str, Any], unknown: Sequence[str]) -> Any:
        found = tuple(np.array(arguments[n])[()] for n in unknown)
        return found[0] if self.single else found

    # --- derivatives of the residual

    @functools.cached_property
    def matrix(self) -> Jacobian:
        """The derivative by the unknowns as a whole."""
        of = tuple("return" if n is None else n for n in self.outputs[0])
        return Jacobian(self.residual, self.unknown, of, None, **self.options)

    def made(self, kind: type[Any], wrt: tuple[int, ...]) -> Any:
        """A derivative of the residual, which is made once."""
        if (kind, wrt) not in self._made:
            of = tuple("return" if n is None else n for n in self.outputs[0])
            mode = {Jvp: Mode.FORWARD, Vjp: Mode.COMBINED}
            first = (mode[kind],) if kind in mode else ()
            self._made[kind, wrt] = kind(self.residual, *first, wrt, of, kind.__name__.lower(), **self.options)
        return self._made[kind, wrt]


class Point:
    """A solution, and the linear systems there."""

    def __init__(self, of: Implicit, value: Any, arguments: Mapping[str, Any], wrt: tuple[int, ...]) -> None:
        self.of, self.wrt, self.value = of, wrt, value
        names, residual = of.names(of.unknown), of.residual
        parts = [value] if of.single else value
        if not isinstance(parts, list | tuple) or len(parts) != len(names):
            raise ArgumentError(f"the solver must return {len(names)} values, for {', '.join(names)}")
        known = {p.name for p in residual.signature.parameters}
        solution = dict(zip(names, parts, strict=True))
        whole = {n: v for n, v in arguments.items() if n in known} | solution
        every = {**arguments, **solution}
        whole |= {n: v(**_accepted(v, every)) if callable(v) else v for n, v in of.given.items()}
        self.named = {n: _as_declared(residual, n, v) for n, v in whole.items()}
        self.values = residual.values((), self._outputs() | self.named)
        self.shapes = [np.shape(v) for v in parts]
        self.size = sum(int(np.prod(s, dtype=int)) for s in self.shapes)
        written = {p.index: self.values[p.index] for p in written_by(residual)}
        self._written = {n: v.copy() for n, v in written.items() if isinstance(v, np.ndarray)}
        single = any(np.asarray(self.values[n]).dtype == np.float32 for n in of.unknown)
        self.epsilon = 1.2e-7 if single else 2.2e-16
        self._loose = single
        self._require_root()

    def _outputs(self) -> dict[str, Any]:
        """Memory for the residual, which is like the unknowns."""
        parameters, pairs = (
            self.of.residual.signature.parameters,
            zip(self.of.outputs[0], self.of.unknown, strict=False),
        )
        like = {n: self.named[parameters[u].name] for n, u in pairs if n is not None}
        return {parameters[n].name: np.zeros(np.shape(u), parameters[n].type.dtype) for n, u in like.items()}

    # --- products: A = ∂r/∂u, B = ∂r/∂p, as lists or as one vector

    @property
    def sign(self) -> float:
        """Of the step's derivative, in that of the residual."""
        return -1.0 if self.of.fixed else 1.0

    def push_u(self, x: Vector) -> Vector:
        """A x"""
        pushed = self.sign * self._pushed(self.of.unknown, self.unpacked(x))
        return x + pushed if self.of.fixed else pushed

    def pull_u(self, y: Vector) -> Vector:
        """Aᵀ y"""
        pulled = self.sign * packed(self._pulled(self.of.unknown, y))
        return y + pulled if self.of.fixed else pulled

    def push_p(self, along: Direction) -> Vector:
        """B ṗ"""
        return self.sign * self._pushed(self.wrt, along)

    def pull_p(self, y: Vector) -> list[Any]:
        """Bᵀ y"""
        return [_times(self.sign, g) for g in self._pulled(self.wrt, y)]

    def bend(self, y: Vector, along_u: Vector, along_p: Direction) -> tuple[Vector, list[Any]]:
        """D²(yᵀ r) times a direction, by u and by p."""
        second = self.of.made(Hvp, (*self.of.unknown, *self.wrt))
        way = [*self.unpacked(along_u), *along_p]
        (found,), _ = second.products(self._fresh(), self._seed(y), 1, lambda _: way)
        count = len(self.of.unknown)
        return self.sign * packed(found[:count]), [_times(self.sign, h) for h in found[count:]]

    def matrix(self) -> Any:
        """A, made as a whole."""
        whole = self.of.matrix(*self._fresh())
        sizes = [element_count(s) for s in self.shapes]
        rows = [np.hstack([np.reshape(b, (-1, n)) for b, n in zip(row, sizes, strict=True)]) for row in whole]
        found = self.sign * np.vstack(rows)
        return found + np.eye(self.size) if self.of.fixed else found

    def _pushed(self, wrt: tuple[int, ...], along: Direction) -> Vector:
        _, found, _ = self.of.made(Jvp, wrt).run(self._fresh(), along)
        return packed(found)

    def _pulled(self, wrt: tuple[int, ...], y: Vector) -> list[Any]:
        _, found, _ = self.of.made(Vjp, wrt).run(self._fresh(), self._seed(y))
        return list(found)

    def _seed(self, y: Vector) -> Direction:
        shapes = [() if n is None else np.shape(self.values[n]) for n in self.of.outputs[0]]
        return unpacked(y, shapes)

    def _fresh(self) -> list[Any]:
        """The arguments of the residual, as they were: what it writes it may have read."""
        for n, old in self._written.items():
            self.values[n][...] = old
        return list(self.values)

    def unpacked(self, x: Vector) -> Direction:
        """A value for each unknown."""
        return unpacked(x, self.shapes)

    # --- systems

    @functools.cached_property
    def forward(self) -> System:
        """A x = b"""
        return self._system("A x = b, A = ∂r/∂u,", self.push_u, self.matrix, self.of.how.solve)

    @functools.cached_property
    def adjoint(self) -> System:
        """Aᵀ y = w"""
        return self._system("Aᵀ y = w, A = ∂r/∂u,", self.pull_u, lambda: self.matrix().T, self.of.how.solve_transposed)

    def _system(
        self, name: str, product: Product, matrix: Callable[[], Any], handed: Callable[..., Any] | None
    ) -> System:
        how = self.of.how
        rtol = how.linear_rtol if how.linear_rtol is not None else 1e-4 if self._loose else 1e-10
        name = f"{name} of {', '.join(self.of.names(self.of.unknown))}"
        near = None if handed is None else functools.partial(self._near, handed, _accepted(handed, self.named, 1))
        return System(name, self.size, product, matrix, rtol, how.iterations, how.method, near, self.of.fixed)

    def _near(self, handed: Callable[..., Any], arguments: Mapping[str, Any], b: Vector) -> Vector:
        """What a solver that the user hands over gives."""
        given = self.unpacked(b)
        found = handed(given[0] if self.of.single else b, **arguments)
        x = np.asarray(found, float).reshape(-1)
        if x.size != self.size:
            raise ArgumentError(f"solve= gave {x.size} numbers for {self.size} unknowns")
        return x

    # --- the root

    def _require_root(self) -> None:
        """SolveError where the solver's value is no root, as nearly as is asked."""
        of, how = self.of, self.of.how
        along = self._signs(of.unknown), self._signs(self.wrt)
        value, pushed, _ = of.made(Jvp, of.unknown).run(self._fresh(), along[0])
        found, u = packed(value), packed([self.values[n] for n in of.unknown])
        if found.size != self.size:
            raise SolveError(
                f"{of.residual.signature.name} gives {found.size} numbers, and there are {self.size} unknowns",
                fix="pass as many equations as unknowns",
            )
        r = u - found if of.fixed else found
        left = float(np.linalg.norm(r))
        scale = np.linalg.norm(u) * of.fixed + np.linalg.norm(packed(pushed)) + np.linalg.norm(self.push_p(along[1]))
        if left <= _ROUNDED * self.epsilon * float(scale):
            return
        if not np.isfinite(left):
            raise SolveError(f"the residual of {self._named()} is not finite at what the solver returned")
        rtol = how.rtol if how.rtol is not None else 1e-3 if self._loose else 1e-6
        step = float(np.linalg.norm(self.forward.solve(r, _NEWTON)))
        if not step <= rtol * float(np.linalg.norm(u)) + how.atol:
            raise SolveError(
                f"what the solver returned for {self._named()} is no root of {of.residual.signature.name}",
                cause=f"its norm is {np.linalg.norm(u):.3e}, and Newton's method would move it by {step:.1e}; the "
                f"residual's norm is {left:.1e}",
                fix=f"solve to a relative error of {rtol:.0e}, or set rtol= and atol=",
            )

    def _named(self) -> str:
        return ", ".join(self.of.names(self.of.unknown))

    def _signs(self, positions: Sequence[int]) -> Direction:
        """The values of parameters with random signs: what a residual is of them adds up to its terms' size."""
        rng = np.random.default_rng(0)
        return [_signed(self.values[n], rng) for n in positions]


class ImplicitDerivative:
    """A derivative of an implicit function. Call it with the solver's arguments."""

    def __init__(self, function: Implicit, kind: str, wrt: Names, seed: Any, has_aux: bool) -> None:
        self.function, self.kind, self.default_seed = function, kind, seed
        self.wrt, self.single = (function.wrt, function.one) if wrt is None else function.inputs(wrt)
        self.has_aux = has_aux
        for n in self.wrt:
            p = function.residual.signature.parameters[n]
            require_active(function.residual, p)
            if kind in ("jacobian", "hvp", "hessian") and not _is_real(p):
                raise ArgumentError(f"{p.name} holds more than floats: it has no {kind}", fix="use vjp or jvp")
        self.__name__ = f"{kind}_{getattr(function, '__name__', 'solver')}"

    def __repr__(self) -> str:
        return f"<{self.kind} by {', '.join(self.function.names(self.wrt))}: {self.function!r}>"

    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, tangents: Any = None, direction: Any = None, **named: Any) -> Any:
        """As the derivative of that kind of a compiled function. `seed` may be a function of the value."""
        along = direction if tangents is None else tangents
        if self.kind == "hvp" and along is None:
            if not args:
                raise ArgumentError("an hvp is called without a direction", fix="pass it last, or as direction=…")
            args, along = args[:-1], args[-1]
        if self.kind in ("jvp", "hvp"):
            if along is None:
                raise ArgumentError(f"a {self.kind} needs tangents", fix="pass tangents=…: one for each in wrt")
            along = listed(along, self.function.names(self.wrt), self.single, "tangents")
        value, aux, arguments = self.function.solved(args, named)
        at = Point(self.function, value, arguments, self.wrt)
        found = getattr(self, f"_{self.kind}")(at, self.default_seed if seed is None else seed, along)
        return self._with_aux(value, found, aux)

    def _with_aux(self, value: Any, found: Any, aux: Any) -> Any:
        match self.kind:
            case "value_and_grad":
                return ((value, aux), found) if self.has_aux else (value, found)
            case "vjp" | "jvp":
                return (value, found, aux) if self.has_aux else (value, found)
        return (found, aux) if self.has_aux else found

    # --- each kind

    def _jvp(self, at: Point, _: Any, along: Direction) -> Any:
        several = batch([at.values[n] for n in self.wrt], along)
        rows = [at.unpacked(self.push(at, d)) for d in ([along] if several is None else several)]
        found = [r[0] for r in rows] if self.function.single else [tuple(r) for r in rows]
        return found[0] if several is None else stacked_each(found, self.function.single)

    def _vjp(self, at: Point, seed: Any, _: Any) -> Any:
        given = self._seeds(at, seed)
        several = batch([at.value] if self.function.single else list(at.value), given)
        seeds = [packed(self._fitted(at, s)) for s in ([given] if several is None else several)]
        rows = [self._shaped(self.pull(at, s)) for s in seeds]
        return rows[0] if several is None else stacked_each(rows, self.single)

    def _grad(self, at: Point, seed: Any, _: Any) -> Any:
        return self._shaped(self.pull(at, packed(self._fitted(at, self._seeds(at, seed)))))

    _value_and_grad = _grad

    def _hvp(self, at: Point, seed: Any, along: Direction) -> Any:
        y = at.adjoint.solve(packed(self._fitted(at, self._seeds(at, seed))))
        several = batch([at.values[n] for n in self.wrt], along)
        rows = [self._shaped(self.bend(at, y, d)) for d in ([along] if several is None else several)]
        return rows[0] if several is None else stacked_each(rows, self.single)

    def _jacobian(self, at: Point, _: Any, __: Any) -> Any:
        shapes = [np.shape(at.values[n]) for n in self.wrt]
        sizes = [element_count(s) for s in shapes]
        if sum(sizes) <= at.size:
            columns = [self.push(at, unpacked(e, shapes)) for e in np.eye(sum(sizes))]
            matrix = np.array(columns).reshape(sum(sizes), at.size).T
        else:
            matrix = np.array([packed(self.pull(at, e)) for e in np.eye(at.size)]).reshape(at.size, sum(sizes))
        return self._blocks(matrix, at.shapes, self.function.single, shapes)

    def _hessian(self, at: Point, seed: Any, _: Any) -> Any:
        y = at.adjoint.solve(packed(self._fitted(at, self._seeds(at, seed))))
        shapes = [np.shape(at.values[n]) for n in self.wrt]
        size = sum(map(element_count, shapes))
        rows = [packed(self.bend(at, y, unpacked(e, shapes))) for e in np.eye(size)]
        return self._blocks(np.array(rows).reshape(size, size), shapes, self.single, shapes)

    def _blocks(
        self, matrix: Any, rows: Sequence[tuple[int, ...]], one: bool, columns: Sequence[tuple[int, ...]]
    ) -> Any:
        lines = np.split(matrix, np.cumsum([element_count(s) for s in rows])[:-1], axis=0)
        ends = np.cumsum([element_count(s) for s in columns])[:-1]
        found = [
            tuple(b.reshape(a + c).copy()[()] for b, c in zip(np.split(line, ends, axis=1), columns, strict=True))
            for line, a in zip(lines, rows, strict=True)
        ]
        chosen = [f[0] if self.single else f for f in found]
        return chosen[0] if one else tuple(chosen)

    # --- the theorem

    def push(self, at: Point, along: Direction) -> Vector:
        """The tangent of u."""
        return at.forward.solve(-at.push_p(along))

    def pull(self, at: Point, seed: Vector) -> list[Any]:
        """The adjoints of p."""
        return [_times(-1.0, g) for g in at.pull_p(at.adjoint.solve(seed))]

    def bend(self, at: Point, y: Vector, along: Direction) -> list[Any]:
        """The tangents of the adjoints of p, where y solves the adjoint's system."""
        by_u, by_p = at.bend(y, self.push(at, along), along)
        rest = at.pull_p(at.adjoint.solve(-by_u))
        return [_times(-1.0, h + g) for h, g in zip(by_p, rest, strict=True)]

    # --- directions

    def _seeds(self, at: Point, seed: Any) -> Direction:
        seed = seed(at.value) if callable(seed) else seed
        if seed is None:
            if at.size != 1 or self.kind == "vjp" and not self.function.single:
                raise ArgumentError(
                    f"the unknown has {at.size} elements: a gradient is of one number",
                    fix="pass seed=…, one weight an element, or a function that gives these for a value",
                )
            return [np.ones(s) for s in at.shapes]
        return listed(seed, self.function.names(self.function.unknown), self.function.single, "seed")

    def _fitted(self, at: Point, seeds: Direction) -> Direction:
        names = self.function.names(self.function.unknown)
        found: Direction = []
        for name, shape, s in zip(names, at.shapes, seeds, strict=True):
            one = np.zeros(shape) if s is None else np.asarray(s, float)
            if one.shape != shape:
                raise ArgumentError(f"the seed of {name} has shape {one.shape}, not {shape}")
            found.append(one)
        return found

    def _shaped(self, found: list[Any]) -> Any:
        return found[0] if self.single else tuple(found)


# --- vectors


def _times(factor: float, x: Any) -> Any:
    """A product that keeps the dtype; of the floats of structs only."""
    if isinstance(x, np.ndarray) and x.dtype.names is not None:
        made = np.zeros_like(x)
        for name in x.dtype.names:
            made[name] = _times(factor, x[name]) if x[name].dtype.kind in "fV" else x[name]
        return made
    return x * x.dtype.type(factor) if isinstance(x, np.ndarray) else x * factor


def _signed(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return value * rng.choice([-1.0, 1.0], value.shape)
    return value


def _accepted(function: Callable[..., Any], arguments: Mapping[str, Any], first: int = 0) -> dict[str, Any]:
    """Those arguments that a function of the user names, from the parameter at `first` on."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(arguments)
    return {n: v for n, v in arguments.items() if n in list(parameters)[first:]}


def _is_real(p: Parameter) -> bool:
    """Is it a float, or a pointer to floats?"""
    t = p.type.to if isinstance(p.type, Pointer) else p.type
    t = t.element if isinstance(t, Array) else t
    return isinstance(t, Scalar) and t.kind == "float"


def _as_declared(function: ForeignFunction, name: str, value: Any) -> Any:
    """A value as an array of the parameter's dtype where it is one of numbers: a solver may return any."""
    p = function.signature.parameter(name)
    if not isinstance(p.type, Pointer) or not _is_real(p) or p.type.dtype is None:
        return value
    given = np.asarray(value)
    usual = given.dtype.kind in "fiu" and given.ndim and not isinstance(p.type, View)
    return np.ascontiguousarray(given, p.type.dtype) if usual else value


# --- decorators


def implicit(
    *, residual: ForeignFunction, unknown: Names, of: Names = None, wrt: Names = None,
    given: Mapping[str, Any] | None = None, has_aux: bool = False, solve: Callable[..., Any] | None = None,
    solve_transposed: Callable[..., Any] | None = None, method: str | None = None, linear_rtol: float | None = None,
    iterations: int = 2000, rtol: float | None = None, atol: float = 0.0, **options: Any,
) -> Callable[[Callable[..., Any]], Any]:  # fmt: skip
    """Decorates a solver of r(u, p) = 0: its derivatives are those of u(p), by the implicit function theorem.

    residual   a function of a library, with as many outputs as unknowns
    unknown    the parameter that is solved for, or a tuple of them
    of, wrt    the residual's output; which parameters may have derivatives
    given      values for parameters of the residual that the solver does not have, or functions of those it has
    has_aux    a Python solver returns (u, aux)
    solve, solve_transposed  solve(b, u=…, p=…) gives the solution of A x = b, and of Aᵀ x = b, A = ∂r/∂u
    method     "dense", "gmres" or "bicgstab"; by default what fits
    linear_rtol, iterations  of the linear solves
    rtol, atol  how exact the solver's value must be
    options    see `options.Options`: those of the residual's derivatives

    docs/implicit.md has examples. Derivatives raise SolveError where the value is no root, or a system is not solved.
    """
    how = How(solve, solve_transposed, method or "", linear_rtol, iterations, rtol, atol)
    return lambda solver: Implicit(
        solver, residual, unknown, of, wrt, how, given=given or {}, has_aux=has_aux, fixed=False, **options
    )


def fixed_point(
    *, step: ForeignFunction, unknown: Names, of: Names = None, wrt: Names = None,
    given: Mapping[str, Any] | None = None, has_aux: bool = False, solve: Callable[..., Any] | None = None,
    solve_transposed: Callable[..., Any] | None = None, method: str | None = None, linear_rtol: float | None = None,
    iterations: int = 2000, rtol: float | None = None, atol: float = 0.0, **options: Any,
) -> Callable[[Callable[..., Any]], Any]:  # fmt: skip
    """Decorates a solver of u = g(u, p): its derivatives are those of u(p). `step` is g; the rest is as in `implicit`.

    Linear systems are solved by the same iteration: x ← b + (∂g/∂u) x, or its transpose. `method` may be "iterate".
    """
    how = How(solve, solve_transposed, method or "", linear_rtol, iterations, rtol, atol)
    return lambda solver: Implicit(
        solver, step, unknown, of, wrt, how, given=given or {}, has_aux=has_aux, fixed=True, **options
    )


__all__ = ["Implicit", "ImplicitDerivative", "Point", "fixed_point", "implicit"]
