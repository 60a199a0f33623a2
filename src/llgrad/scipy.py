"""Foreign functions for SciPy: values, gradients, Jacobians and products with them.

    problem = llgrad.scipy.objective(lib.rosenbrock)
    scipy.optimize.minimize(problem.fun, x0, jac=problem.jac, hess=problem.hess, method="trust-exact")   # or hessp=

    residuals = llgrad.scipy.objective(lib.residuals, wrt=("cams", "points"), given={"feats": feats, …}, out=…)
    scipy.optimize.least_squares(residuals.fun, x0, jac=residuals.jac)          # or jac=residuals.operator: no matrix

    system = llgrad.scipy.equation(lib.kinetics)               # void f(double t, const double *y, int n, double *dy)
    scipy.integrate.solve_ivp(system.fun, span, y0, jac=system.jac, method="BDF")

`wrt` names the variables; SciPy's vector `x` is these, in that order, flattened and joined (`pack`, `unpack`).
Everything else is `given` by name. `out`, `updates`, `scratch` and `counts` declare what cannot be inferred; see
`llgrad.foreign`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from llgrad.errors import UnknownNameError
from llgrad.execution.library import ForeignFunction
from llgrad.foreign import Call, ForeignShapeError, ForeignTypeError, load_foreign
from llgrad.foreign.numpy import Array, OneRun, array, jacobian, run, run_batch, unit_vectors


class Objective:
    """A function of a vector. One output of one element makes it a scalar, whose `jac` is the gradient."""

    def __init__(
        self, function: ForeignFunction, wrt: str | Sequence[str] | None, given: Mapping[str, Any],
        declared: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.foreign = load_foreign(function, **declared)
        inputs = self.foreign.tensors
        names = [i.name for i in inputs]
        known = [i.name for i in self.foreign.roles.inputs]
        if unknown := [n for n in (*given, *([wrt] if isinstance(wrt, str) else wrt or ())) if n not in known]:
            raise UnknownNameError(
                f"{self.foreign.name} has no input {', '.join(unknown)}", fix=f"there are {', '.join(known)}"
            )
        if wrt is None:
            wrt = [i.name for i in inputs if i.active and i.name not in given]
        self.names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        if missing := [n for n in known if n not in given and n not in self.names]:
            raise ForeignTypeError(f"nothing is given for {', '.join(missing)}", fix="given={name: value}")
        if bad := [n for n in self.names if n not in names or not inputs[names.index(n)].active]:
            raise ForeignTypeError(f"{', '.join(bad)} has no derivative", fix="name inputs that are floats")
        if len(set(self.names)) < len(self.names):
            raise ForeignTypeError(f"wrt={wrt!r} names an input twice", fix="name each once")
        self.wrt = tuple(names.index(n) for n in self.names)
        self._fixed = [
            None if n in self.wrt else array(self.foreign, i, given[i.name]) for n, i in enumerate(inputs)
        ]
        self._statics = tuple(self.foreign._integer(i, given[i.name]) for i in self.foreign.statics)
        numbers = {i.name: () for i in inputs if i.name in self.names and not i.array}
        self._shapes = {**numbers, **{n: np.shape(given[n]) for n in self.names if n in given}}
        self._check_sizes()

    def _check_sizes(self) -> None:
        if len(self.wrt) > 1 and set(self._shapes) != set(self.names):
            raise ForeignTypeError(
                f"x is to hold {', '.join(self.names)}: of which shapes?",
                fix=f"given={{{', '.join(f'{n!r}: …' for n in self.names if n not in self._shapes)}}}: arrays of these "
                "shapes, values unused",
            )  # fmt: skip

    # --- the vector

    def pack(self, *variables: Any) -> Array:
        """The vector that stands for these variables."""
        return np.concatenate([np.ravel(_real(v, np.dtype(np.float64))) for v in variables])

    def unpack(self, x: Array) -> list[Array]:
        """The variables that a vector stands for, in the order of `names`."""
        if len(self.names) == 1 and self.names[0] not in self._shapes:
            return [x]
        sizes = [int(np.prod(self._shapes[n], dtype=np.int64)) for n in self.names]
        if np.shape(x) != (sum(sizes),):
            raise ForeignShapeError(
                f"x has shape {np.shape(x)}, not ({sum(sizes)},)", cause=f"it holds {', '.join(self.names)}"
            )
        parts = np.split(np.asarray(x), np.cumsum(sizes)[:-1])
        return [p.reshape(self._shapes[n]) for n, p in zip(self.names, parts, strict=True)]

    def tensors(self, x: Any) -> list[Array]:
        """What the compiled function is given for x."""
        parts = dict(zip(self.names, self.unpack(np.asarray(x)), strict=True))
        return [
            array(self.foreign, i, _real(parts[i.name], i.dtype)) if fixed is None else fixed
            for i, fixed in zip(self.foreign.tensors, self._fixed, strict=True)
        ]

    # --- what SciPy calls

    def fun(self, x: Any) -> Any:
        """The value: a number, or the outputs in one vector."""
        return self.value(self.tensors(x))

    def value(self, tensors: list[Array]) -> Any:
        """The same for the function's own inputs."""
        return self._joined(run(self.foreign.call("primal", (), _shapes(tensors), self._statics), tensors))

    def jac(self, x: Any) -> Array:
        """The gradient of a number, the Jacobian matrix of a vector."""
        tensors = self.tensors(x)
        if not self._scalar(tensors):
            return self.matrix(tensors)
        return self._pulled(tensors, [1.0])

    def matrix(self, tensors: list[Array]) -> Array:
        """The Jacobian matrix for the function's own inputs."""
        return jacobian(self.foreign, tensors, self._statics, self.wrt).astype(np.float64, copy=False)

    def vjp(self, x: Any, weights: Any) -> Array:
        """The gradient of the outputs, weighted."""
        return self._pulled(self.tensors(x), weights)

    def jvp(self, x: Any, direction: Any) -> Any:
        """The derivative of the outputs along a direction."""
        tensors = self.tensors(x)
        along = self._directions(tensors, direction)
        call = self.foreign.call("jvp", self.wrt, _shapes(tensors), self._statics)
        return self._joined(run(call, [*tensors, *along]))

    def operator(self, x: Any) -> Any:
        """The Jacobian at x as a `scipy.sparse.linalg.LinearOperator`: its matrix is never made."""
        from scipy.sparse.linalg import LinearOperator

        x = np.array(x, np.float64)
        rows = np.size(self.fun(x))
        return LinearOperator(
            (rows, x.size), lambda v: np.atleast_1d(self.jvp(x, v)), lambda w: self.vjp(x, w), dtype=np.float64
        )

    def hess(self, x: Any, weights: Any = None) -> Array:
        """The matrix of second derivatives of the outputs, weighted (as `NonlinearConstraint` wants it); of a number
        without weights."""
        tensors = self.tensors(x)
        call, seeds = self._second(tensors, weights)
        taken, count = [*tensors, *seeds], sum(tensors[n].size for n in self.wrt)
        basis = unit_vectors(call.taken[len(taken) :], count)
        with OneRun(self.foreign, tensors, self._statics):
            made = run_batch(call, count, [*taken, *basis], [True] * len(taken) + [False] * len(basis))
        whole = np.concatenate([a.reshape(count, -1) for a in made], axis=1).astype(np.float64, copy=False)
        return (whole + whole.T) / 2

    def hessp(self, x: Any, direction: Any, weights: Any = None) -> Array:
        """The product of that matrix and a vector, without the matrix."""
        tensors = self.tensors(x)
        call, seeds = self._second(tensors, weights)
        return self.pack(*run(call, [*tensors, *seeds, *self._directions(tensors, direction)]))

    # --- pieces

    def _second(self, tensors: list[Array], weights: Any) -> tuple[Call, list[Array]]:
        if weights is None and not self._scalar(tensors):
            raise ForeignTypeError(
                f"{self.foreign.name} has several outputs: the second derivatives of which?",
                fix="hess(x, weights): one weight for each",
            )
        call = self.foreign.call("second", self.wrt, _shapes(tensors), self._statics)
        outputs = call.taken[len(tensors) : len(tensors) + len(self.foreign.outputs)]
        return call, _seeds(outputs, [1.0] if weights is None else weights)

    def _pulled(self, tensors: list[Array], weights: Any) -> Array:
        call = self.foreign.call("vjp", self.wrt, _shapes(tensors), self._statics)
        return self.pack(*run(call, [*tensors, *_seeds(call.taken[len(tensors) :], weights)]))

    def _directions(self, tensors: list[Array], direction: Any) -> list[Array]:
        flat, like = np.ravel(np.asarray(direction)), [tensors[n] for n in self.wrt]
        if flat.size != (size := sum(t.size for t in like)):
            raise ForeignShapeError(f"a direction has {flat.size} elements, not {size}", cause="x has as many")
        parts = np.split(flat, np.cumsum([t.size for t in like])[:-1])
        return [np.ascontiguousarray(_real(p, t.dtype).reshape(t.shape)) for p, t in zip(parts, like, strict=True)]

    def _scalar(self, tensors: list[Array]) -> bool:
        made = self.foreign.call("primal", (), _shapes(tensors), self._statics).made
        return len(made) == 1 and int(np.prod(made[0][0], dtype=np.int64)) == 1

    def _joined(self, made: list[Array]) -> Any:
        if len(made) == 1 and made[0].size == 1:
            return float(made[0].reshape(()))
        return self.pack(*made)


class Equation:
    """dy/dt = f(t, y), for `solve_ivp`."""

    def __init__(self, function: ForeignFunction, y: str, t: str, given: Mapping[str, Any], declared: Any) -> None:
        inputs = [i.name for i in load_foreign(function, **declared).tensors]
        self._time = inputs.index(t) if t in inputs else None
        self.objective = Objective(function, y, {**given, **({t: 0.0} if t in inputs else {})}, declared)

    def fun(self, t: float, y: Any) -> Array:
        """dy/dt as a vector."""
        return np.atleast_1d(self.objective.value(self._tensors(t, y)))

    def jac(self, t: float, y: Any) -> Array:
        """The matrix of its derivatives by y."""
        return self.objective.matrix(self._tensors(t, y))

    def _tensors(self, t: float, y: Any) -> list[Array]:
        found = self.objective.tensors(y)
        if self._time is not None:
            found[self._time] = np.array(t, found[self._time].dtype)
        return found


def objective(
    function: ForeignFunction, wrt: str | Sequence[str] | None = None, given: Mapping[str, Any] | None = None,
    **declared: Any,
) -> Objective:  # fmt: skip
    """`fun`, `jac`, `hess`, `hessp`, `jvp`, `vjp`, `operator` of a compiled function; see above."""
    return Objective(function, wrt, given or {}, declared)


def equation(
    function: ForeignFunction, y: str = "y", t: str = "t", given: Mapping[str, Any] | None = None, **declared: Any
) -> Equation:
    """`fun(t, y)` and `jac(t, y)` of a compiled right-hand side; see above."""
    return Equation(function, y, t, given or {}, declared)


def _real(given: Any, dtype: Any) -> Array:
    """The numbers as an array of floats; complex ones are refused."""
    found = np.asarray(given)
    if np.iscomplexobj(found):
        raise ForeignTypeError(f"x holds {found.dtype}, not {dtype}", fix="pass real numbers")
    return found.astype(dtype, copy=False)


def _seeds(outputs: Sequence[Any], weights: Any) -> list[Array]:
    """Weights of all outputs in one vector → arrays like the outputs."""
    seeds, flat, at = [], np.ravel(_real(weights, np.dtype(np.float64))), 0
    for shape, dtype in outputs:
        size = int(np.prod(shape, dtype=np.int64))
        seeds.append(flat[at : at + size].astype(dtype).reshape(shape))
        at += size
    if at != flat.size:
        raise ForeignShapeError(f"{flat.size} weights for {at} outputs")
    return seeds


def _shapes(tensors: Sequence[Array]) -> tuple[tuple[int, ...], ...]:
    return tuple(a.shape for a in tensors)
