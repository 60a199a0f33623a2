"""How `vmap` scales over cores: batches of gradients by one thread, two, … (`make bench-threads`).

`python -m benchmarks.threads` prints for each number of threads: wall time of one thread ÷ theirs; the cores that the
machine gave them (CPU ÷ wall time; where it is busy they are fewer than there are threads, and the speed-up is no
more); and the CPU time of all of them ÷ that of one thread: what sharing memory, caches and the interpreter costs,
whatever else runs. Medians of turns.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import llgrad
from benchmarks.bench import machine as described

EXAMPLES = Path(__file__).parents[1] / "examples" / "adbench"
SECONDS, ROUNDS = 0.4, 7  # a batch takes so long on one thread; turns


def gmm(points: int) -> tuple[Any, tuple[Any, ...], str]:
    """The gradient of a mixture model, of 10 dimensions and 25 components: batches of its parameters."""
    from examples.adbench.instances import random_gmm

    function = llgrad.load(EXAMPLES / "gmm.c").gmm_objective
    derivative = llgrad.value_and_grad(function, wrt=("alphas", "means", "icf"), of="err")
    return derivative, tuple(random_gmm(10, 25, points).arguments()), "icf"


CASES: dict[str, Callable[[], tuple[Any, tuple[Any, ...], str]]] = {
    "gmm, 3 points": lambda: gmm(3), "gmm, 100 points": lambda: gmm(100), "gmm, 1,000 points": lambda: gmm(1_000),
}  # fmt: skip


def measure(case: tuple[Any, tuple[Any, ...], str], threads: Sequence[int]) -> list[tuple[float, float]]:
    """Wall and CPU seconds of a batch, by the number of threads."""
    derivative, given, over = case
    names = [p.name for p in llgrad.vmap(derivative, over=over).foreign.signature.parameters]
    place = names.index(over)
    begun = time.perf_counter()
    derivative(*given)
    derivative(*given)
    count = max(len(threads) * 8, round(SECONDS / ((time.perf_counter() - begun) / 2)))
    batch = tuple(np.stack([v] * count) if n == place else v for n, v in enumerate(given))
    mapped = [llgrad.vmap(derivative, over=over, threads=n) for n in threads]
    taken: list[list[tuple[float, float]]] = [[] for _ in threads]
    for _ in range(ROUNDS):
        for times, run in zip(taken, mapped, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            run(*batch)
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return [(statistics.median(w for w, _ in times), statistics.median(c for _, c in times)) for times in taken]


def main() -> None:
    """Prints the table."""
    threads = [1 << n for n in range(9) if 1 << n <= 2 * (os.cpu_count() or 1)]
    cpu, cores, load = (described()[k] for k in ("cpu", "cores", "load"))
    title = f"{cpu}, {cores} cores, load {load[0]:.1f}"
    table = Table("a batch of gradients", "threads", "speed-up", "cores it got", "CPU ÷ one thread's", title=title)
    for name, make in CASES.items():
        found = measure(make(), threads)
        for n, (wall, used) in zip(threads, found, strict=True):
            row = (f"{found[0][0] / wall:.2f}", f"{used / wall:.2f}", f"{used / found[0][1]:.2f}")
            table.add_row(name, str(n), *row)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
