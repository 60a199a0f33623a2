"""The three ADBench problems, differentiated by llgrad: what the demonstration shows and the benchmark times.

A `Problem` says how to run the compiled objective, how to differentiate it, and what to compare the result with.
Its comparisons are the arbiter's: an independent derivative, and finite differences of the compiled C itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import llgrad

from . import references
from .instances import HERE, Array, Ba, Gmm, Lstm

Arrays = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """`derivative()` is the work to time; the rest explains and judges it.

    inputs      the active arrays, which `objective` reads at each call
    objective   runs the compiled primal and gives its outputs, flat
    rows        turns what `derivative` gave into what `reference` gives
    along       from rows and one direction per input: the derivative of the outputs along it, flat
    handles     llgrad's derivative functions, for `tape_bytes` and `compile_seconds`
    """

    title: str
    inputs: Arrays
    objective: Callable[[], Array]
    derivative: Callable[[], Arrays]
    rows: Callable[[Arrays], Arrays]
    reference: Callable[[], Arrays]
    along: Callable[[Arrays, Arrays], Array]
    handles: tuple[Any, ...]

    @property
    def tape_bytes(self) -> int:
        """Peak size of the tape of the last `derivative()`."""
        return max(int(handle.tape_bytes) for handle in self.handles)

    @property
    def compile_seconds(self) -> float:
        """What differentiating and compiling took, once."""
        return sum(float(handle.compile_seconds) for handle in self.handles)


def _gradient_along(rows: Arrays, directions: Arrays) -> Array:
    return np.array([sum(float((row * u).sum()) for row, u in zip(rows, directions, strict=True))])


def _one_output(title: str, function: Any, wrt: tuple[str, ...], of: str, arguments: tuple[Any, ...],
                inputs: Arrays, reference: Callable[[], Arrays]) -> Problem:  # fmt: skip
    """A problem of one number, `of`, the last argument."""
    df = llgrad.value_and_grad(function, wrt=wrt, of=of)

    def objective() -> Array:
        function(*arguments)
        return np.array(arguments[-1])

    def derivative() -> Arrays:
        return tuple(df(*arguments)[1])

    return Problem(title, inputs, objective, derivative, lambda got: got, reference, _gradient_along, (df,))


def gmm_problem(g: Gmm) -> Problem:
    """Gradient of the log posterior by alphas, means and icf."""
    function = llgrad.load(HERE / "gmm.c").gmm_objective
    title = "GMM d={} K={} N={}".format(*g.sizes)
    return _one_output(title, function, ("alphas", "means", "icf"), "err", g.arguments(),
                       (g.alphas, g.means, g.icf), lambda: references.gmm_gradient(g))  # fmt: skip


def lstm_problem(s: Lstm) -> Problem:
    """Gradient of the loss by main and extra parameters."""
    function = llgrad.load(HERE / "lstm.c").lstm_objective
    title = "LSTM l={} c={} b={}".format(*s.sizes)
    return _one_output(title, function, ("main_params", "extra_params"), "loss", s.arguments(),
                       (s.main, s.extra), lambda: references.lstm_gradient(s))  # fmt: skip


def ba_rows(blocks: Arrays) -> Arrays:
    """Rows (p, 2, 15) from the blocks of two sweeps: (camera, point, weight) twice; anything after is left as it is."""
    sweeps = (blocks[:3], blocks[3:6])
    rows = [np.concatenate([cams, points, w[:, None]], axis=1) for cams, points, w in sweeps]
    return np.stack(rows, axis=1), *blocks[6:]


def _ba_along(rows: Arrays, directions: Arrays) -> Array:
    cams, points, w = directions
    direction = np.concatenate([cams, points, w[:, None]], axis=1)
    return np.concatenate([np.einsum("pij,pj->pi", rows[0], direction).ravel(), rows[1] * w])


def ba_problem(b: Ba) -> Problem:
    """The sparse Jacobian: a sweep for all projections, seeded with first and with second errors; one for weights."""
    lib = llgrad.load(HERE / "ba.c")
    wide = b.expanded()
    arguments = wide.arguments()
    outputs = arguments[-2:]
    weights = (len(wide.weights), wide.weights, np.zeros_like(wide.weights))
    seeds = np.array([np.broadcast_to(unit, wide.feats.shape) for unit in np.eye(2)])
    ones = np.ones_like(wide.weights)
    project = llgrad.vjp(lib.ba_objective, wrt=("cams", "X", "w"), of="reproj_err")
    weigh = llgrad.vjp(lib.ba_weights, wrt=("w",), of="w_err")

    def objective() -> Array:
        lib.ba_objective(*arguments)
        return np.concatenate([np.ravel(output) for output in outputs])

    def derivative() -> Arrays:
        blocks = project(*arguments, seed=seeds)[1]
        return (*(b[0] for b in blocks), *(b[1] for b in blocks), *weigh(*weights, seed=ones)[1])

    title = f"BA {len(b.cams)} cameras, {len(b.points)} points, {len(b.obs)} observations"
    inputs = (wide.cams, wide.points, wide.weights)
    return Problem(title, inputs, objective, derivative, ba_rows, lambda: references.ba_jacobian(b), _ba_along,
                   (project, weigh))  # fmt: skip


def _error(got: Array, reference: Array) -> float:
    if got.shape != reference.shape:
        raise ValueError(f"derivative of shape {got.shape} where the reference has {reference.shape}")
    difference, scale = float(np.abs(got - reference).max()), float(np.abs(reference).max())
    if scale == 0.0:
        return 0.0 if difference == 0.0 else np.inf
    return difference / scale


def worst_error(got: Arrays, reference: Arrays) -> float:
    """The largest difference, relative to the largest entry of the array it stands in; NaN if any is NaN."""
    return float(np.max([_error(a, b) for a, b in zip(got, reference, strict=True)]))


def difference_quotient(problem: Problem, directions: Arrays, h: float = 1e-3) -> Array:
    """The objective's derivative along `directions` by a central difference of order 6, run on the compiled C."""
    start = [array.copy() for array in problem.inputs]

    def at(step: float) -> Array:
        for array, base, direction in zip(problem.inputs, start, directions, strict=True):
            array[...] = base + step * direction
        return problem.objective()

    try:
        one, two, three = (at(n * h) - at(-n * h) for n in (1, 2, 3))
    finally:
        for array, base in zip(problem.inputs, start, strict=True):
            array[...] = base
    return np.asarray((45 * one - 9 * two + three) / (60 * h))


def finite_difference_error(problem: Problem, rows: Arrays, count: int = 4, seed: int = 0) -> float:
    """The largest relative difference to finite differences along `count` random directions."""
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(count):
        directions = tuple(rng.normal(size=array.shape) * (0.1 * np.abs(array) + 1e-3) for array in problem.inputs)
        expected = difference_quotient(problem, directions)
        errors.append(worst_error((problem.along(rows, directions),), (expected,)))
    return float(np.max(errors))
