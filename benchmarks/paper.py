"""`make bench-paper`: the programs of the Enzyme paper's evaluation, and five more, at three sizes each.

Each program of `benchmarks/programs` is built by clang alone (the primal), and differentiated by llgrad after LLVM's
optimisation and before it (the paper's reference), and by Enzyme; all with the same flags, with and without `restrict`.
Candidates take turns in one process; times are CPU time, ratios are to the primal. Peak memory is what a fresh process
has resident at most beyond what the primal alone needs. Writes `build/paper.json`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from benchmarks import native
from examples.adbench.timing import Timing, take_turns

PROGRAMS = native.ROOT / "benchmarks" / "programs"
SIZES: dict[str, tuple[int, ...]] = {
    "gmm": (2, 10, 32), "ba": (100, 1_000, 10_000), "lstm": (64, 256, 1_024), "hand": (100, 1_000, 10_000),
    "euler": (2_000, 20_000, 200_000), "rk4": (1_000, 10_000, 100_000), "adaptive": (1, 100, 10_000),
    "fft": (256, 4_096, 65_536), "fft_recursive": (256, 4_096, 65_536), "brusselator": (16, 32, 128),
    "normalize": (1_000, 10_000, 100_000), "network": (16, 64, 256), "conjugate": (16, 32, 64),
    "option": (200, 2_000, 20_000), "bodies": (16, 64, 256), "convolution": (24, 64, 192),
}  # fmt: skip
PAPER = ("euler", "rk4", "adaptive", "fft", "fft_recursive", "brusselator", "normalize")
OURS, BEFORE, ENZYME = "llgrad", "llgrad, before optimisation", "enzyme"
VARIANTS = {"restrict": native.VECTOR_MATH, "plain": native.VECTOR_NO_RESTRICT}
LIMIT = 1e-8


@dataclass(frozen=True, slots=True)
class Result:
    """One tool on one program at one size; `error` is the distance from Enzyme's gradient, of its largest entry."""

    program: str
    variant: str
    size: int
    tool: str
    timing: Timing
    ratio: float
    error: float
    memory: int | None
    seconds: float


class Program:
    """A program as one tool built it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        library.primal.restype = ctypes.c_double
        library.derivative.restype = ctypes.POINTER(ctypes.c_double)

    def setup(self, size: int) -> None:
        self.library.setup(size)

    def gradient(self) -> np.ndarray:
        """Runs the adjoint once; a copy of what it leaves."""
        self.library.gradient()
        count = ctypes.c_int()
        found = self.library.derivative(ctypes.byref(count))
        return np.ctypeslib.as_array(found, (count.value,)).copy()


def build(name: str, tool: str, variant: native.Variant) -> tuple[Program, float]:
    source = PROGRAMS / f"{name}.c"
    if tool == "primal":
        return Program(native.built(source, variant, "-DPRIMAL")), 0.0
    made = native.derived(tool, source, variant)
    return Program(made.library), made.seconds


def memory(name: str, tool: str, variant: str, size: int) -> int | None:
    """Bytes resident at most in a fresh process that runs the gradient once, beyond those of the primal."""
    command = [sys.executable, "-m", "benchmarks.paper", "--resident", name, tool, variant, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=native.ROOT)
    return int(done.stdout) if done.returncode == 0 else None


def resident(name: str, tool: str, variant: str, size: int) -> int:
    """What `memory` runs in the fresh process."""
    program, _ = build(name, tool, VARIANTS[variant])
    program.setup(size)
    program.library.primal()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    program.library.gradient()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def measure(
    name: str, variant: str, sizes: tuple[int, ...], rounds: int, console: Console, progress: Callable[[], object]
) -> list[Result]:
    """One program in one variant: all tools, all sizes."""
    built: dict[str, tuple[Program, float]] = {}
    for tool in ("primal", ENZYME, OURS, BEFORE):
        try:
            built[tool] = build(name, tool, VARIANTS[variant])
        except native.NativeError as failure:
            text = str(failure).strip().splitlines()
            message = f"{name}, {variant}: {tool} failed: {text[1] if len(text) > 1 else text}"
            console.print(message, style="yellow", markup=False)
    found = []
    for size in sizes:
        for program, _ in built.values():
            program.setup(size)
        gradients = {tool: p.gradient() for tool, (p, _) in built.items() if tool != "primal"}
        calls = {tool: p.library.primal if tool == "primal" else p.library.gradient for tool, (p, _) in built.items()}
        taken = take_turns(calls, rounds)
        for tool in gradients:
            reference = gradients.get(ENZYME, gradients.get(OURS))
            assert reference is not None
            error = float(np.max(np.abs(gradients[tool] - reference)) / np.max(np.abs(reference)))
            ratio = taken[tool].median / taken["primal"].median
            resident = memory(name, tool, variant, size) if size == sizes[-1] else None
            found.append(Result(name, variant, size, tool, taken[tool], ratio, error, resident, built[tool][1]))
        progress()
    return found


def shown(results: list[Result]) -> Table:
    """Ratios to the primal and to Enzyme."""
    table = Table(title="Gradients: time in units of the primal", title_justify="left")
    headings = (
        "program", "pointers", "size", "Enzyme", "llgrad", "llgrad ÷ Enzyme", "before optimisation", "error",
        "memory ÷ Enzyme", "compile ÷ Enzyme",
    )  # fmt: skip
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("program", "pointers") else "right")
    rows: dict[tuple[str, str, int], dict[str, Result]] = {}
    for r in results:
        rows.setdefault((r.program, r.variant, r.size), {})[r.tool] = r
    for (program, variant, size), row in rows.items():
        mine, enzyme, before = row.get(OURS), row.get(ENZYME), row.get(BEFORE)
        both = mine is not None and enzyme is not None
        table.add_row(
            program, variant, str(size), _of(enzyme), _of(mine),
            f"{mine.timing.median / enzyme.timing.median:.2f}" if both else "",  # type: ignore[union-attr]
            _of(before), f"{mine.error:.0e}" if mine else "",
            f"{mine.memory / enzyme.memory:.2f}" if both and mine.memory and enzyme.memory else "",  # type: ignore[union-attr]
            f"{mine.seconds / enzyme.seconds:.1f}" if both else "",  # type: ignore[union-attr]
        )  # fmt: skip
    return table


def _of(result: Result | None) -> str:
    return f"{result.ratio:.2f}" if result else "-"


def geometric(results: list[Result], variant: str, tool: str, base: str | None) -> tuple[float, int]:
    """The geometric mean over the paper's programs of a tool's time ÷ the primal's or another tool's; of how many."""
    times = {(r.program, r.size, r.tool): r for r in results if r.variant == variant and r.program in PAPER}
    logs = []
    for (program, size, name), r in times.items():
        other = times.get((program, size, base)) if base else None
        if name == tool and (base is None or other is not None):
            logs.append(math.log(r.timing.median / other.timing.median if other else r.ratio))
    return (math.exp(sum(logs) / len(logs)) if logs else math.nan), len(logs)


def main() -> int:
    """Parses the command line, measures, prints, writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"{', '.join(SIZES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="the middle size, few rounds")
    parser.add_argument("--resident", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, default=native.ROOT / "build" / "paper.json")
    options = parser.parse_args()
    if options.resident:
        name, tool, variant, size = options.resident
        print(resident(name, tool, variant, int(size)))
        return 0
    if unknown := sorted(set(options.programs) - SIZES.keys()):
        parser.error(f"no program is called {', '.join(unknown)}")
    console = Console()
    console = Console(width=max(console.width, 120))
    rounds = 5 if options.quick else 25
    work = [(n, v, SIZES[n][1:2] if options.quick else SIZES[n]) for n in options.programs or SIZES for v in VARIANTS]
    results: list[Result] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("compiling and timing", total=sum(len(sizes) for _, _, sizes in work))
        for name, variant, sizes in work:
            bar.update(task, description=f"{name}, {variant}")
            results += measure(name, variant, sizes, rounds, console, lambda: bar.advance(task))
    console.print(shown(results))
    for variant in VARIANTS:
        to_enzyme, n = geometric(results, variant, OURS, ENZYME)
        to_primal, _ = geometric(results, variant, OURS, None)
        headline, _ = geometric(results, variant, BEFORE, OURS)
        console.print(
            f"{variant}: geometric means over the paper's programs ({n} sizes): llgrad ÷ Enzyme {to_enzyme:.2f}, "
            f"llgrad ÷ primal {to_primal:.2f}, before ÷ after optimisation {headline:.1f}", highlight=False,
        )  # fmt: skip
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    console.print(f"Written to {os.path.relpath(options.json)}", highlight=False)
    wrong = sorted({r.program for r in results if r.tool == OURS and not r.error <= LIMIT})
    if wrong:
        console.print(f"llgrad and Enzyme disagree: {', '.join(wrong)}", style="bold red")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
