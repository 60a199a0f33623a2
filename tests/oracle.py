"""What derivatives are measured against: finite differences of the program itself, and how two Jacobians are compared.

A Jacobian has a row for each output and a column for each input. Differences are judged row by row, against the largest
entry of the row (and a thousandth of the largest of all): rounding in one output is as large as intermediate values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def finite_differences(f: Callable[[Vector], Vector], at: Vector, step: float = 2e-4) -> Matrix:
    """The Jacobian of `f` by central differences with one Richardson step: the error is of order step⁴."""
    columns = []
    for i, x in enumerate(at):
        h = step * max(1.0, abs(x))
        columns.append((4 * _central(f, at, i, h / 2) - _central(f, at, i, h)) / 3)
    return np.array(columns).T.reshape(-1, len(at)) if columns else np.zeros((len(f(at)), 0))


def _central(f: Callable[[Vector], Vector], at: Vector, i: int, h: float) -> Vector:
    up, down = at.copy(), at.copy()
    up[i] += h
    down[i] -= h
    slope: Vector = (f(up) - f(down)) / (up[i] - down[i])
    return slope


def smoothness(f: Callable[[Vector], Vector], at: Vector, step: float = 2e-4) -> float:
    """How far finite differences with two step sizes differ: large near a kink or a jump."""
    a, b = finite_differences(f, at, step), finite_differences(f, at, step / 8)
    return float(np.max(np.abs(a - b) / tolerances(a, 1.0), initial=0.0))


def tolerances(reference: Matrix, tolerance: float) -> Matrix:
    """The difference that is allowed in each entry."""
    size = np.abs(np.nan_to_num(reference))
    largest = np.max(size, initial=0.0)
    rows = np.max(size, axis=-1, keepdims=True, initial=0.0) + 1e-3 * largest + 1e-12
    allowed: Matrix = tolerance * np.broadcast_to(rows, reference.shape)
    return allowed


def directional(what: str, matrix: Matrix, direction: Vector, got: Vector, tolerance: float) -> str:
    """`disagreement` of `matrix @ direction` and `got`; rounding is as large as the terms of the sums."""
    size = (np.abs(matrix) @ np.abs(direction))[:, None]
    return disagreement(what, (matrix @ direction)[:, None], got[:, None], tolerance, size)


def disagreement(what: str, got: Matrix, reference: Matrix, tolerance: float, size: Matrix | None = None) -> str:
    """A sentence about the worst entry that is too far off, or an empty string; `size` stands for the reference's."""
    if got.shape != reference.shape:
        return f"{what}: shapes {got.shape} and {reference.shape}"
    if got.size == 0:
        return ""
    excess = np.abs(got - reference) / tolerances(reference if size is None else size, tolerance)
    excess[~(np.isfinite(got) & np.isfinite(reference))] = np.inf
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    if excess[worst] <= 1.0:
        return ""
    place = ", ".join(str(int(k)) for k in worst)
    bad = int(np.sum(excess > 1.0))
    values = f"{got[worst]:.12g} instead of {reference[worst]:.12g}"
    return f"{what}: [{place}] is {values} ({bad} of {got.size} entries are off)"
