"""What checkpoints cost: the gradient of 10⁶ time steps within budgets of memory, beside the theory.

`python -m benchmarks.checkpointing` (`make bench-checkpoint`) prints a table and writes docs/plots/checkpoints.svg
where matplotlib is installed. The theory: with s checkpoints, the steps are run least_runs(n, s) times without a tape
besides once with it (Griewank and Walther); such a run costs what the function costs, the rest what the gradient
without checkpoints costs, where its tape stays in the cache (FEWER steps). Times are CPU times, the least of several.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import llgrad
from benchmarks.bench import machine as described
from llgrad.autodiff.requests.checkpoint_schedule import least_runs

CELLS, COUNT, FEWER, LONGER, TIMES = 256, 1_000_000, 1_000, 50_000, 2
BUDGETS = tuple(1 << n for n in range(17, 24))  # 128 KB to 8 MB
STATE = 2 * CELLS * 8  # bytes that a step may write
PROGRAM = Path(__file__).parent / "programs" / "steps.c"
PLOT = Path(__file__).parent.parent / "docs" / "plots" / "checkpoints.svg"


def seconds(run: Callable[..., Any], count: int) -> float:
    """CPU time of a step, the least of several runs."""
    best = float("inf")
    for _ in range(TIMES if count > FEWER else 50):
        given = arguments(count)
        begun = time.process_time()
        run(*given)
        best = min(best, time.process_time() - begun)
    return best / count


def arguments(count: int) -> tuple[Any, ...]:
    start = 0.5 + 0.4 * np.sin(np.linspace(0, 20, CELLS))
    return CELLS, count, start, 0.1, np.zeros(CELLS), np.zeros(CELLS)


def measure() -> list[tuple[str, int, float, float, float]]:
    """By budget: peak, slow-down measured and in theory, error."""
    function = llgrad.load(PROGRAM).steps
    plain = llgrad.value_and_grad(function, wrt=("start", "rate"))
    primal, gradient, longer = seconds(function, FEWER), seconds(plain, FEWER), seconds(plain, LONGER)
    wanted = np.hstack([np.ravel(x) for x in plain(*arguments(LONGER))[1]])
    print(f"a step: {primal * 1e9:.0f} ns; its gradient without checkpoints {gradient * 1e9:.0f} ns, "
          f"with a tape of {plain.tape_bytes / 1e6:.0f} MB {longer * 1e9:.0f} ns")  # fmt: skip
    print(f"{'budget':>12} {'peak, bytes':>14} {'slow-down':>10} {'theory':>8} {'÷ theory':>10} {'error':>9}")
    rows = []
    ways: tuple[int | str, ...] = (*BUDGETS, "revolve", "sqrt")
    for how in ways:
        derivative = llgrad.value_and_grad(function, wrt=("start", "rate"), checkpoint=how)
        found = np.hstack([np.ravel(x) for x in derivative(*arguments(LONGER))[1]])
        error = float(np.abs(found - wanted).max() / np.abs(wanted).max())
        slow = seconds(derivative, COUNT) / gradient
        size = how if isinstance(how, int) else derivative.tape_bytes
        held = max(1, size // STATE)
        theory = 1 + least_runs(COUNT, held) / COUNT * primal / gradient
        rows.append((str(how), derivative.tape_bytes, slow, theory, error))
        show(rows[-1])
    return rows


def show(row: tuple[str, int, float, float, float]) -> None:
    how, peak, slow, theory, error = row
    name = f"{int(how) >> 10:,} KB" if how.isdigit() else how
    print(f"{name:>12} {peak:>14,} {slow:>10.2f} {theory:>8.2f} {slow / theory:>10.2f} {error:>9.1e}", flush=True)


def draw(rows: list[tuple[str, int, float, float, float]], machine: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "llgrad", "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False,
                         "axes.spines.right": False})  # fmt: skip
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    budgets = [r for r in rows if r[0].isdigit()]
    at = [int(r[0]) / 1024 for r in budgets]
    axis.plot(at, [r[2] for r in budgets], "o-", color="#1b6ca8", label="measured")
    axis.plot(at, [r[3] for r in budgets], "s:", color="#888888", label="least number of repeated steps")
    for how, peak, slow, _, _ in rows:
        if not how.isdigit():
            axis.plot([peak / 1024], [slow], "D", color="#d1603d", markersize=5)
            axis.annotate(f'"{how}"', (peak / 1024, slow), xytext=(6, 4), textcoords="offset points", fontsize=9)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
    axis.set_ylim(bottom=1)
    axis.set_xlabel("budget, KB")
    axis.set_ylabel("time ÷ gradient without checkpoints")
    axis.set_title(f"{COUNT:,} steps of {CELLS} cells", loc="left")
    axis.grid(color="#e4e4e4", linewidth=0.6)
    axis.legend(frameon=False)
    figure.text(0.995, 0.005, machine, ha="right", va="bottom", fontsize=7, color="#666666")
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    print(f"{COUNT:,} steps of {CELLS} cells; the tape without checkpoints would be {COUNT * CELLS * 8 / 1e9:.1f} GB")
    rows = measure()
    try:
        host = described()
        draw(rows, f"{host['cpu']}, {host['clang']}")
        print(f"wrote {PLOT}")
    except ImportError:
        print("no plot: matplotlib is not installed")


if __name__ == "__main__":
    main()
