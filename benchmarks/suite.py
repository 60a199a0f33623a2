"""The programs of the Enzyme paper's evaluation, and six more, at three sizes each: all tools in one process.

Each program of `benchmarks/programs` is built by clang alone (the primal), and differentiated by llgrad after LLVM's
optimisation and before it (`--level 0`, the paper's reference), and by Enzyme; all with the same flags, with and
without `restrict`. Beside them, where they fit: the same program in Rust, adjoints written by hand, ADOL-C, JAX,
PyTorch, CasADi. Candidates take turns; times are CPU time, ratios are to the primal (of programs in Rust to theirs).
Memory is what a fresh process has touched at most beyond what the primal needs and the gradient's own arrays, which
`setup` makes (`resident.py`). Finite differences are counted, not run: two primals for each input.
"""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from benchmarks import frameworks, native
from examples.adbench.instances import Array
from examples.adbench.timing import Timing, take_turns

FOLDER = native.ROOT / "benchmarks"
SIZES: dict[str, tuple[int, int, int]] = {
    "gmm": (2, 10, 32), "ba": (100, 1_000, 10_000), "lstm": (64, 256, 1_024), "hand": (100, 1_000, 10_000),
    "fft": (256, 4_096, 65_536), "fft_recursive": (256, 4_096, 65_536), "euler": (2_000, 20_000, 200_000),
    "rk4": (1_000, 10_000, 100_000), "adaptive": (1, 100, 10_000), "brusselator": (16, 32, 128),
    "normalize": (1_000, 10_000, 100_000), "network": (16, 64, 256), "conjugate": (16, 32, 64),
    "option": (200, 2_000, 20_000), "bodies": (16, 64, 256), "convolution": (24, 64, 192),
    "gated": (8, 64, 512),
}  # fmt: skip
PAPER = tuple(SIZES)[:11]
PRIMAL, OURS, BEFORE, ENZYME = "primal", "llgrad", "llgrad, before optimisation", "enzyme"
BY_HAND, ADOLC = "by hand", "ADOL-C"
RUST_PRIMAL, RUST, RUST_ENZYME = "primal, Rust", "llgrad, Rust", "enzyme, Rust"
VARIANTS = {"restrict": native.VECTOR_MATH, "plain": native.VECTOR_NO_RESTRICT}
LIMIT = 1e-8
PAGE = 4096  # bytes
LONGEST = 3.0  # seconds: a candidate that would take longer is left out
MOST_TAPE = 4 << 30  # bytes: likewise
BUDGET = {True: 0.4, False: 1.5}  # seconds for one size; quick, full


@dataclass(frozen=True, slots=True)
class Result:
    """One tool on one program at one size; `error` is the distance from Enzyme's gradient of the C program, of its
    largest entry. That of a primal means nothing.

    `inputs` is how many there are; memory, tape in bytes; `seconds` the CPU time from assembly to machine code.
    """

    program: str
    variant: str
    size: int
    tool: str
    timing: Timing
    ratio: float
    error: float
    inputs: int
    memory: int | None
    tape: int | None
    seconds: float


class Program:
    """A program as one tool built it."""

    def __init__(self, path: Path, seconds: float = 0.0, entry: str = "gradient") -> None:
        self.path, self.seconds, self.library = path, seconds, ctypes.CDLL(str(path))
        self.library.primal.restype = ctypes.c_double
        self.library.derivative.restype = ctypes.POINTER(ctypes.c_double)
        self.call = getattr(self.library, entry, self.library.primal)  # (in Rust the primal has nothing else)

    def setup(self, size: int) -> None:
        """Makes the inputs."""
        self.library.setup(size)

    def gradient(self) -> Array:
        """Runs the adjoint once; a copy of what it leaves."""
        self.call()
        count = ctypes.c_int()
        found = self.library.derivative(ctypes.byref(count))
        return np.ctypeslib.as_array(found, (count.value,)).copy()


def _sources(name: str) -> tuple[Path, list[Path]]:
    """The program, and what it includes from the examples."""
    shared = native.EXAMPLES / f"{name}.c"
    return FOLDER / "programs" / f"{name}.c", [shared] if shared.exists() else []


def build(name: str, tool: str, variant: native.Variant) -> Program:
    """The program by one tool; NativeError says why not."""
    source, others = _sources(name)
    if tool == PRIMAL:
        return Program(native.compiled(source, variant, "-DPRIMAL", others=others))
    if tool == BY_HAND:
        return Program(native.compiled(FOLDER / "by_hand" / f"{name}.c", variant, "-DPRIMAL", others=[source, *others]))
    if tool == ADOLC:
        made = native.adolc(name)
        return Program(made.path, made.seconds, "adjoint")
    if tool.endswith(", Rust"):
        made = native.rust(name, variant, None if tool == RUST_PRIMAL else tool.removesuffix(", Rust"))
        return Program(made.path, made.seconds)
    made = native.derived(tool, source, variant, others)
    return Program(made.path, made.seconds)


def tools_for(name: str, variant: str) -> list[str]:
    """What is there for a program. What knows nothing of `restrict` runs once."""
    rust = [(tool, "rust", "rs") for tool in (RUST_PRIMAL, RUST, RUST_ENZYME)]
    once = [(BY_HAND, "by_hand", "c"), (ADOLC, "adolc", "cpp"), *rust] if variant == "restrict" else []
    there = [tool for tool, folder, end in once if (FOLDER / folder / f"{name}.{end}").exists()]
    return [PRIMAL, ENZYME, OURS, BEFORE, *there]


def memory(program: Program, size: int) -> int | None:
    """Bytes of a fresh process that runs the gradient once."""
    command = [sys.executable, "-S", "-E", str(FOLDER / "resident.py"), str(program.path), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else None


def compiled(
    work: Iterable[tuple[str, str]], tell: Callable[[str], object], progress: Callable[[], object]
) -> dict[tuple[str, str], dict[str, Program]]:
    """All programs of `work` (program, variant) by all tools, on all cores. `tell` hears what fails."""
    made: dict[tuple[str, str], dict[str, Program]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = [
            (n, v, t, pool.submit(build, n, t, VARIANTS[v])) for n, v in work for t in tools_for(n, v)
        ]  # fmt: skip
        for name, variant, tool, program in waiting:
            try:
                made.setdefault((name, variant), {})[tool] = program.result()
            except native.NativeError as failure:
                text = [line for line in str(failure).splitlines()[1:] if line.strip()] or [str(failure)]
                tell(f"{name}, {variant}: no {tool}: {next((t for t in text if 'error' in t), text[0]).strip()[:200]}")
            progress()
    return made


def measure(
    name: str, variant: str, built: dict[str, Program], sizes: Iterable[int], quick: bool,
    tell: Callable[[str], object], progress: Callable[[], object],
) -> list[Result]:  # fmt: skip
    """One program in one variant: all tools, all sizes. `tell` hears what is left out."""
    found: list[Result] = []
    for size in sizes:
        for tool in [t for t in built if _too_much(found, t, size)]:
            tell(f"{name}, {variant}: {tool} is left out from size {size}: it would take too long, or too much memory")
            del built[tool]
        if ENZYME in built or OURS in built:
            found += _at_size(name, variant, size, built, quick, tell)
        progress()
    return found


def _too_much(found: list[Result], tool: str, size: int) -> bool:
    """Would a call take too long, or too long a tape, if both grow with the square of the size?"""
    earlier = [r for r in found if r.tool == tool]
    if not earlier:
        return False
    last, growth = earlier[-1], (size / earlier[-1].size) ** 2
    return last.timing.median * growth > 10 * LONGEST or (last.tape or 0) * growth > MOST_TAPE


def _at_size(
    name: str, variant: str, size: int, built: dict[str, Program], quick: bool, tell: Callable[[str], object]
) -> list[Result]:
    for program in built.values():
        program.setup(size)
    gradients = {tool: p.gradient() for tool, p in built.items() if tool not in (PRIMAL, RUST_PRIMAL)}
    calls: dict[str, Callable[[], object]] = {
        tool: p.library.primal if tool in (PRIMAL, RUST_PRIMAL) else p.call for tool, p in built.items()
    }
    for tool, (programs, make) in frameworks.FRAMEWORKS.items() if variant == "restrict" else ():
        if name in programs:
            try:
                calls[tool] = make(name, size)
                gradients[tool] = np.asarray(calls[tool]())
            except ImportError as error:
                calls.pop(tool, None)
                tell(f"no {tool}: {error}")
    reference = gradients[ENZYME if ENZYME in gradients else OURS]
    scale = float(np.max(np.abs(reference)))
    once = take_turns(calls, 1)
    rounds = round(BUDGET[quick] / sum(max(t.median, 2e-3) for t in once.values()))
    taken = take_turns(calls, min(max(rounds, 3 if quick else 5), 25))
    found = []
    for tool, gradient in gradients.items():
        made = built.get(tool)
        base = RUST_PRIMAL if tool in (RUST, RUST_ENZYME) and RUST_PRIMAL in taken else PRIMAL
        same = gradient.shape == reference.shape
        distance = float(np.max(np.abs(gradient - reference))) / scale if same else math.inf
        found.append(Result(
            name, variant, size, tool, taken[tool], taken[tool].median / taken[base].median, distance, reference.size,
            memory(made, size) if made and tool in (OURS, ENZYME) else None,
            native.tape_bytes(made.library) if made and tool in (OURS, BEFORE, RUST) else None,
            made.seconds if made else 0.0,
        ))  # fmt: skip
    return found


# --- tables -----------------------------------------------------------------------------------------------------------

Rows = dict[tuple[str, str, int], dict[str, Result]]


def rows_of(results: list[Result]) -> Rows:
    """By program, variant and size: the tools."""
    rows: Rows = {}
    for r in results:
        rows.setdefault((r.program, r.variant, r.size), {})[r.tool] = r
    return rows


def _table(title: str, headings: tuple[str, ...], left: int) -> Table:
    table = Table(title=title, title_justify="left")
    for n, heading in enumerate(headings):
        table.add_column(heading, justify="left" if n < left else "right")
    return table


def times(results: list[Result]) -> Table:
    """Ratios to the primal and to Enzyme."""
    headings = (
        "program", "pointers", "size", "primal", "by hand", "llgrad", "±", "before opt.", "Enzyme", "llgrad ÷ Enzyme",
        "finite differences", "error",
    )  # fmt: skip
    table = _table("Gradients: time ÷ primal", headings, 2)
    for (program, variant, size), row in rows_of(results).items():
        mine, enzyme = row.get(OURS), row.get(ENZYME)
        some = next(iter(row.values()))
        share = f"{mine.timing.median / enzyme.timing.median:.2f}" if mine and enzyme else ""
        table.add_row(
            program, variant, str(size), f"{some.timing.median / some.ratio * 1e6:,.1f} µs", _of(row.get(BY_HAND)),
            _of(mine), f"{mine.timing.spread:.0%}" if mine else "", _of(row.get(BEFORE)), _of(enzyme), share,
            f"{2 * some.inputs:,}", f"{mine.error:.0e}" if mine else "",
        )  # fmt: skip
    return table


def resources(results: list[Result]) -> Table:
    """Memory and tape, and what the derivative took to compile."""
    headings = ("program", "pointers", "size", "memory: llgrad", "Enzyme", "llgrad ÷ Enzyme", "tape",
                "compile: llgrad", "Enzyme")  # fmt: skip
    title = "Memory beyond the primal's in a fresh process; CPU seconds from assembly to machine code, cold processes"
    table = _table(title, headings, 2)
    for (program, variant, size), row in rows_of(results).items():
        mine, enzyme = row.get(OURS), row.get(ENZYME)
        if mine is None or mine.memory is None:
            continue
        share = f"{mine.memory / enzyme.memory:.2f}" if enzyme and enzyme.memory else ""
        table.add_row(
            program, variant, str(size), _bytes(mine.memory), _bytes(enzyme.memory if enzyme else None), share,
            _bytes(mine.tape), f"{mine.seconds:.2f} s", f"{enzyme.seconds:.2f} s" if enzyme else "",
        )  # fmt: skip
    return table


def others(results: list[Result]) -> Table:
    """The same mathematics in other tools."""
    names = (*frameworks.FRAMEWORKS, ADOLC)
    table = _table("The same mathematics elsewhere: time ÷ primal", ("program", "size", "llgrad", *names), 1)
    for (program, _, size), row in rows_of(results).items():
        if any(name in row for name in names):
            table.add_row(program, str(size), *(_of(row.get(name)) for name in (OURS, *names)))
    return table


def languages(results: list[Result]) -> Table:
    """The programs that are there in Rust, too: their gradients beside C's."""
    headings = (
        "program", "size", "C: llgrad", "Enzyme", "Rust: primal ÷ C's", "llgrad", "Enzyme", "error: llgrad", "Enzyme",
    )  # fmt: skip
    table = _table("The same program in Rust: gradient ÷ its own primal", headings, 1)
    for (program, _, size), row in rows_of(results).items():
        if (mine := row.get(RUST)) and (of_c := row.get(OURS)):
            theirs = row.get(RUST_ENZYME)
            primals = mine.timing.median / mine.ratio / (of_c.timing.median / of_c.ratio)
            right = theirs is not None and theirs.error <= LIMIT
            table.add_row(
                program, str(size), _of(of_c), _of(row.get(ENZYME)), f"{primals:.2f}", _of(mine),
                _of(theirs) if right else "wrong" if theirs else "-", f"{mine.error:.0e}",
                f"{theirs.error:.0e}" if theirs else "-",
            )  # fmt: skip
    return table


def _of(result: Result | None) -> str:
    return "-" if result is None else f"{result.ratio:.2f}" if result.ratio < 100 else f"{result.ratio:,.0f}"


def _bytes(count: int | None) -> str:
    return "-" if count is None else f"{count / 1024:,.0f} KiB" if count < 2**23 else f"{count / 2**20:,.0f} MiB"


def geometric(results: list[Result], variant: str, tool: str, base: str | None) -> tuple[float, int]:
    """The geometric mean over the paper's programs of a tool's time ÷ the primal's or another tool's; of how many."""
    logs = []
    for (program, kind, _), row in rows_of(results).items():
        if kind == variant and program in PAPER and tool in row and (base is None or base in row):
            mine = row[tool]
            logs.append(math.log(mine.timing.median / row[base].timing.median if base else mine.ratio))
    return (math.exp(sum(logs) / len(logs)) if logs else math.nan), len(logs)


def means(results: list[Result]) -> list[str]:
    """The geometric means, in words."""
    lines = []
    for variant in VARIANTS:
        to_enzyme, n = geometric(results, variant, OURS, ENZYME)
        if n:
            to_primal, _ = geometric(results, variant, OURS, None)
            theirs, _ = geometric(results, variant, ENZYME, None)
            headline, _ = geometric(results, variant, BEFORE, OURS)
            lines.append(
                f"{variant}: geometric means over the paper's programs ({n} sizes): llgrad ÷ Enzyme {to_enzyme:.2f}, "
                f"llgrad ÷ primal {to_primal:.2f}, Enzyme ÷ primal {theirs:.2f}, before ÷ after optimisation "
                f"{headline:.1f}"
            )
        for what, least, of in (("memory", PAGE, _memory), ("compiling", 0.0, _compiling)):
            share, n = resource_mean(results, variant, of, least)
            if n:
                lines.append(f"{variant}: {what}, llgrad ÷ Enzyme: {share:.2f} ({n} sizes)")
    return lines


def resource_mean(
    results: list[Result], variant: str, of: Callable[[Result], float | None], least: float
) -> tuple[float, int]:
    """The geometric mean over the paper's programs of what llgrad takes ÷ Enzyme's, each at least so much; of how many.

    `of` is None where that was not measured.
    """
    logs = []
    for (program, kind, _), row in rows_of(results).items():
        mine, theirs = (of(row[tool]) if tool in row else None for tool in (OURS, ENZYME))
        if kind == variant and program in PAPER and mine is not None and theirs is not None:
            logs.append(math.log(max(mine, least) / max(theirs, least)))
    return (math.exp(sum(logs) / len(logs)) if logs else math.nan), len(logs)


def _memory(result: Result) -> float | None:
    return result.memory


def _compiling(result: Result) -> float | None:
    return result.seconds


def wrong(results: list[Result]) -> list[str]:
    """The programs whose gradients by llgrad, or by hand, differ from Enzyme's."""
    return sorted({r.program for r in results if r.tool in (OURS, BEFORE, BY_HAND, RUST) and not r.error <= LIMIT})
