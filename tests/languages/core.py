"""The numerical core that every language of `examples/languages` has: how each is called, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import llgrad

N, M, STEPS = 4, 5, 12
_rng = np.random.default_rng(7)
X, B1, W2 = (_rng.uniform(-1, 1, k) for k in (N, M, M))
W1 = _rng.uniform(-1, 1, (M, N))
START = _rng.uniform(0.2, 1.0, N)
_root = _rng.uniform(-1, 1, (N, N))
A = _root @ _root.T + N * np.eye(N)
B = _rng.uniform(-1, 1, N)


@dataclass(frozen=True)
class Case:
    """A function of the core: what it is called, and the arguments that are differentiated, in the order of C."""

    name: str
    active: tuple[Any, ...]


CASES = (
    Case("network", (X, W1, B1, W2, 0.3)),
    Case("integrate", (START, 0.4, 0.05)),
    Case("solve", (A, B)),
)


def reference(name: str, active: Sequence[Any]) -> float:
    """The same in NumPy."""
    if name == "network":
        x, w1, b1, w2, target = active
        return float((w2 @ np.tanh(w1 @ x + b1) - target) ** 2)
    if name == "integrate":
        y, k, dt = active

        def slope(v: Any) -> Any:
            return np.roll(v, 1) - 2 * v + np.roll(v, -1) - k * v**3

        for _ in range(STEPS):
            a = slope(y)
            y = y + 0.5 * dt * (a + slope(y + dt * a))
        return float(y @ y)
    a, b = active
    a = np.tril(a) + np.tril(a, -1).T  # only the lower triangle is read
    return float(b @ np.linalg.solve(a, b) + np.linalg.slogdet(a)[1])


def called(f: Callable[..., float]) -> Callable[[Sequence[Any]], float]:
    """The function of one sequence of arguments."""
    return lambda v: f(*v)


def differences(f: Callable[[Sequence[Any]], float], active: Sequence[Any]) -> list[Any]:
    """The gradient by each argument, from central differences of sixth order; None for integers."""
    found: list[Any] = []
    for n, value in enumerate(active):
        if isinstance(value, int):
            found.append(None)
            continue
        flat = np.array(value, dtype=float).reshape(-1)
        gradient = np.zeros(flat.size)
        for i in range(flat.size):

            def at(h: float, n: int = n, i: int = i, flat: Any = flat, value: Any = value) -> float:
                moved = flat.copy()
                moved[i] += h
                again = moved.reshape(np.shape(value)) if np.ndim(value) else float(moved[0])
                return f([*active[:n], again, *active[n + 1 :]])

            one, two, three = (at(s * 1e-3) - at(-s * 1e-3) for s in (1, 2, 3))
            gradient[i] = (45 * one - 9 * two + three) / 60e-3
        found.append(gradient.reshape(np.shape(value)))
    return found


def both_modes(f: llgrad.ForeignFunction, x: Any) -> None:
    """Asserts that the gradient by `x`, and the tangent in one direction, agree with differences."""
    (truth,), direction = differences(lambda v: f(*v), [x]), np.linspace(0.3, 1.7, len(x))
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x), truth, rtol=1e-7, atol=1e-8)
    _, tangent = llgrad.jvp(f, wrt="x")(x, tangents=(direction,))
    np.testing.assert_allclose(tangent, truth @ direction, rtol=1e-7, atol=1e-8)
