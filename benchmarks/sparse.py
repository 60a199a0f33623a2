"""What sparse Jacobians and Hessians cost, in units of the function (`make bench-sparse`).

`python -m benchmarks.sparse` prints for each problem the unknowns, the entries, the colours, seconds of the function,
of the first call (compiling, pattern, colouring) and of a call after that, and the quotient of the last and the
function: medians of turns, in CPU time, on one thread. Each call probes its pattern.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from rich.console import Console
from rich.table import Table

import llgrad
from benchmarks.bench import machine as described
from examples.adbench.instances import HERE, read_ba

PROGRAMS = Path(__file__).with_name("programs")
FRAMEWORKS = Path(__file__).parents[1] / "examples" / "frameworks"
ROUNDS = 9


class Case(Struct):
    """A function, its sparse derivative, and what both are called with."""

    name: str
    unknowns: int
    function: Callable[[], Any]
    derivative: Any
    call: Callable[[], Any]
    at_most: float


def brusselator(side: int = 707) -> Case:
    f = llgrad.load(FRAMEWORKS / "diffusion.c").brusselator_step
    n = 2 * side * side
    u, r = np.random.default_rng(0).uniform(0.5, 1.5, n), np.zeros(n)
    given = (side, side, u, u - 0.1, 0.01, 0.5, r)
    made = llgrad.sparse_jacobian(f, wrt="u", of="r", threads=1)
    return Case("Brusselator, 2-D", n, lambda: f(*given), made, lambda: made(*given), 12)


def bratu(side: int = 1000) -> Case:
    f = llgrad.load(FRAMEWORKS / "diffusion.c").bratu
    u, r = np.random.default_rng(0).uniform(0, 1, side * side), np.zeros(side * side)
    given = (side, side, u, 1 / side**2, r)
    made = llgrad.sparse_jacobian(f, wrt="u", of="r", threads=1)
    return Case("Bratu, 2-D", u.size, lambda: f(*given), made, lambda: made(*given), 12)


def bundle_adjustment() -> Case:
    f, ba = llgrad.load(HERE / "ba.c").ba_objective, read_ba()
    given = ba.arguments()
    made = llgrad.sparse_jacobian(f, wrt=("cams", "X"), of="reproj_err", threads=1)
    size = ba.cams.size + ba.points.size
    return Case("bundle adjustment", size, lambda: f(*given), made, lambda: made(*given), 6)


def optimal_control(intervals: int = 16_666) -> Case:
    f = llgrad.load(PROGRAMS / "robot.c").lagrangian
    rng = np.random.default_rng(0)
    z, multipliers = rng.uniform(-1, 1, 6 * (intervals + 1)), rng.uniform(-1, 1, 4 * intervals)
    given = (z, multipliers, intervals, 1 / intervals)
    made = llgrad.sparse_hessian(f, wrt="z", threads=1)
    return Case("optimal control, Hessian", z.size, lambda: f(*given), made, lambda: made(*given), 20)


def measured(call: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """Medians of both, in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for run, seconds in zip((call, other), times, strict=True):
            begun = time.process_time()
            run()
            seconds.append(time.process_time() - begun)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    about = described()
    table = Table(title=f"Sparse derivatives: {about['cpu']}, load {about['load'][0]:.1f}")
    for column in ("", "unknowns", "entries", "colours", "function", "first call", "call", "÷ function", "wanted"):
        table.add_column(column, justify="left" if not column else "right")
    for make in (bratu, brusselator, bundle_adjustment, optimal_control):
        case = make()
        case.function()
        begun = time.perf_counter()
        matrix = case.call()
        first = time.perf_counter() - begun
        case.call()
        function, call = measured(case.function, case.call)
        colours = next(iter(case.derivative._made.values())).colouring.count
        table.add_row(
            case.name, f"{case.unknowns:,}", f"{matrix.nnz:,}", str(colours), f"{function * 1e3:.2f} ms",
            f"{first:.1f} s", f"{call * 1e3:.1f} ms", f"{call / function:.1f}", f"≤ {case.at_most:g}",
        )  # fmt: skip
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
