"""Does the gradient depend on the flags that made the input? `python -m benchmarks.inputs [PROGRAM …]`.

Each program of `benchmarks/programs` is compiled to LLVM assembly as users do: without optimisation, at -O0 to -O3,
for size, and with the flags that Enzyme's users give. llgrad differentiates each; clang does the rest with the same
flags. All gradients are compared. Times are CPU time ÷ that of unoptimised but optimisable input, medians of calls that
take turns. Red is a gradient that takes more than 1.5 times the fastest, or twice the smallest tape.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import native, suite
from examples.adbench.timing import take_turns

ROUNDS, SLOWER, MORE = 15, 1.5, 2.0
SMALL = 16 << 10  # bytes of tape that cost nothing
INPUTS = {
    "unoptimised": native.UNOPTIMISED,
    "-O0": ("-O0",),
    "-O1": ("-O1",),
    "-O2": ("-O2",),
    "-O3": ("-O3",),
    "-O2, no loops": ("-O2", "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"),
    "-Os": ("-Os",),
}
Cell = tuple[float, int]
"""Time ÷ that of the first input, and bytes of tape."""


def build(name: str, emit: tuple[str, ...]) -> suite.Program:
    """The gradient of the program as clang wrote it under these flags."""
    variant = native.Variant("inputs", native.LIBMVEC, emit=emit)
    return suite.build(name, suite.OURS, variant)


def measure(built: dict[str, suite.Program], size: int) -> tuple[dict[str, Cell], float]:
    """By input, and the largest distance of two gradients."""
    for program in built.values():
        program.setup(size)
    gradients = [p.gradient() for p in built.values()]
    tapes = {name: native.tape_bytes(p.library) for name, p in built.items()}
    times = take_turns({name: p.call for name, p in built.items()}, ROUNDS)
    first = times[next(iter(built))].median
    scale = float(np.max(np.abs(gradients[0])))
    distance = max(float(np.max(np.abs(g - gradients[0]))) for g in gradients) / scale
    return {name: (times[name].median / first, tapes[name]) for name in built}, distance


def is_cliff(cell: Cell, row: dict[str, Cell]) -> bool:
    """Is it far from the best of its program?"""
    least = max(SMALL, min(tape for _, tape in row.values()))
    return cell[0] > SLOWER * min(time for time, _ in row.values()) or cell[1] > MORE * least


def main() -> int:
    """Prints the table; 1 if two gradients differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=f"{', '.join(suite.SIZES)}; default: all")
    names = parser.parse_args().names or list(suite.SIZES)
    if unknown := [n for n in names if n not in suite.SIZES]:
        parser.error(f"no program is called {', '.join(unknown)}")
    table, wrong, cliffs = Table("program", *INPUTS, "distance"), False, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = {n: {k: pool.submit(build, n, emit) for k, emit in INPUTS.items()} for n in names}
        for name, made in waiting.items():
            row, distance = measure({k: p.result() for k, p in made.items()}, suite.SIZES[name][1])
            wrong = wrong or not distance <= suite.LIMIT
            cells = []
            for cell in row.values():
                cliff = is_cliff(cell, row)
                cliffs += cliff
                text = f"{cell[0]:.2f}, {cell[1] / 1024:,.0f} K"
                cells.append(f"[red]{text}[/red]" if cliff else text)
            table.add_row(name, *cells, f"{distance:.0e}", style=None if distance <= suite.LIMIT else "bold red")
    Console(width=180).print(table)
    print(f"{cliffs} of {len(names) * len(INPUTS)} are cliffs")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
