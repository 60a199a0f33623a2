"""Linear systems that are known by their products: by elimination, Krylov methods, or their fixed-point iteration.

`System.solve` gives a solution whose true residual was computed and is small enough, or raises SolveError. The matrix
is one of a derivative at a solution, or its transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, field

from llgrad.errors import ArgumentError, SolveError

Vector: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
Product: TypeAlias = Callable[[Vector], Vector]
METHODS = ("dense", "gmres", "bicgstab", "iterate")
SMALL = 64  # unknowns that are eliminated
_RESTART = 200  # vectors that GMRES keeps
_SINGULAR = 1e14  # condition of an equilibrated matrix from which on nothing is left of a solution


class System(Struct):
    """`product` gives A x, `matrix` A as a whole. `near` solves the system, more or less: it comes first.

    rtol        largest relative residual
    iterations  products in one attempt, at most
    method      one of METHODS, or "" for those that fit, one after another
    contracts   is I - A the derivative of a step that converges? It may be iterated then
    """

    name: str
    size: int
    product: Product
    matrix: Callable[[], Any]
    rtol: float
    iterations: int
    method: str = ""
    near: Product | None = None
    contracts: bool = False
    _factors: list[Any] = field(default_factory=list)

    def solve(self, b: Vector, rtol: float | None = None) -> Vector:
        """The solution of A x = b; SolveError where none is found. `rtol`: another than usual."""
        rtol = self.rtol if rtol is None else rtol
        size = float(np.linalg.norm(b))
        if not size:
            return np.zeros(self.size)
        if not np.isfinite(size):
            raise SolveError(f"the right-hand side of {self.name} is not finite", fix="look at what the residual gives")
        tried = list[str]()
        best: Vector = np.zeros(self.size)
        least = 1.0
        for method in (["near"] if self.near is not None else []) + self._methods():
            x: Vector = getattr(self, f"_{method}")(b, best, rtol)
            if (error := self._residual(x, b) / size) <= rtol:
                return x
            tried.append(f"{'solve=' if method == 'near' else method} {error:.1e}")
            best, least = (x, error) if error < least else (best, least)
        raise SolveError(
            f"{self.name} was not solved to {rtol:.0e}: relative residuals are {', '.join(tried)}",
            cause="it is singular or ill-conditioned, or needs more iterations or a preconditioner",
            fix="hand over solve= and solve_transposed=, or set iterations= or linear_rtol=",
        )

    def _methods(self) -> list[str]:
        if self.method:
            return [self.method]
        if self.contracts:
            return ["iterate", "dense" if self.size <= SMALL else "gmres"]
        return ["dense"] if self.size <= SMALL and self.near is None else ["bicgstab", "gmres"]

    def _residual(self, x: Vector, b: Vector) -> float:
        """Infinity where x is not finite."""
        error = float(np.linalg.norm(self.product(x) - b)) if np.all(np.isfinite(x)) else np.inf
        return error if np.isfinite(error) else np.inf

    def _near(self, b: Vector, _: Vector, rtol: float) -> Vector:
        assert self.near is not None
        return self.near(b)

    def _dense(self, b: Vector, _: Vector, rtol: float) -> Vector:
        if not self._factors:
            whole = np.asarray(self.matrix(), float)
            if not np.all(np.isfinite(whole)):
                raise SolveError(f"the matrix of {self.name} is not finite", fix="look at what the residual gives")
            rows = _largest(whole, 1)
            columns = _largest(whole / rows[:, None], 0)
            scaled = whole / rows[:, None] / columns
            condition = float(np.linalg.cond(scaled))
            if not condition < _SINGULAR:
                raise SolveError(
                    f"{self.name} is singular", cause=f"the condition of its matrix is {condition:.0e}",
                    fix="at such a point there is no derivative: add equations that make the unknown unique",
                )  # fmt: skip
            self._factors.append((rows, columns, np.linalg.inv(scaled)))
        rows, columns, inverse = self._factors[0]
        x: Vector = inverse @ (b / rows) / columns
        x += inverse @ ((b - self.product(x)) / rows) / columns
        return x

    def _iterate(self, b: Vector, x: Vector, rtol: float) -> Vector:
        """x ← b + (I - A) x, until the error that the rate of convergence leaves is small."""
        before = np.inf
        for _ in range(self.iterations):
            step = b - self.product(x)
            x = x + step
            length = float(np.linalg.norm(step))
            rate = length / before if before else 0.0
            if not np.isfinite(length) or length > 1e8 * float(np.linalg.norm(b)):
                break
            if rate < 1 and length * max(1.0, rate / (1 - rate)) <= 0.1 * rtol * min(
                float(np.linalg.norm(x)), float(np.linalg.norm(b))
            ):
                break
            before = length
        return x

    def _gmres(self, b: Vector, x: Vector, rtol: float) -> Vector:
        restart = min(self.size, _RESTART, self.iterations)
        return self._krylov("gmres", b, x, rtol, restart=restart, maxiter=max(self.iterations // restart, 1))

    def _bicgstab(self, b: Vector, x: Vector, rtol: float) -> Vector:
        return self._krylov("bicgstab", b, x, rtol, maxiter=max(self.iterations // 2, 1))

    def _krylov(self, name: str, b: Vector, x: Vector, rtol: float, **given: Any) -> Vector:
        try:
            from scipy.sparse import linalg
        except ImportError as error:
            raise ArgumentError(
                f"{self.name} has {self.size} unknowns, which SciPy's {name} solves for, and SciPy is not here",
                fix='pip install scipy, or hand over solve= and solve_transposed=, or say method="dense"',
            ) from error
        square = (self.size, self.size)
        a = linalg.LinearOperator(square, self.product, dtype=float)
        m = None if self.near is None else linalg.LinearOperator(square, self.near, dtype=float)
        with np.errstate(all="ignore"):  # the true residual is looked at
            found, _ = getattr(linalg, name)(a, b, x0=x, M=m, rtol=rtol / 2, **given)
        return np.asarray(found, float)


def _largest(matrix: Any, axis: int) -> Any:
    """The largest magnitude in each row or column; one where all is zero."""
    found = np.max(np.abs(matrix), axis=axis)
    return np.where(found > 0, found, 1.0)


__all__ = ["METHODS", "SMALL", "Product", "System", "Vector"]
