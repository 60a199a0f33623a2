"""`make bench`: llgrad against Enzyme, against the objective itself, and against others.

First three instances of ADBench, llgrad from Python and in C: ratios are to the fastest objective that clang makes
(-O3 -march=native, with libmvec or without). Then the programs of `benchmarks.suite`, at three sizes. Enzyme
differentiates the same C, compiled with the same flags. All candidates of a problem take turns in one process; times
are CPU time. Writes `build/bench.json`, plots and the page `docs/benchmark.md` with all tables (a part of the programs,
or --quick: both into `build`). Ends with status 1 if any of llgrad's derivatives is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import native, peer, suite
from examples.adbench.instances import read_ba, read_gmm, read_lstm
from examples.adbench.problems import Arrays, Problem, ba_problem, gmm_problem, lstm_problem, worst_error
from examples.adbench.timing import Timing, take_turns

OURS = "llgrad"
LIMIT = 1e-10
VARIANTS = (native.PLAIN, native.VECTOR_MATH, native.NO_RESTRICT)
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "gmm": lambda: gmm_problem(read_gmm()),
    "ba": lambda: ba_problem(read_ba()),
    "lstm": lambda: lstm_problem(read_lstm()),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A call to time; `error` is its derivative's distance from the reference, None for an objective."""

    label: str
    call: Callable[[], object]
    error: float | None = None
    comparable: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """A timed candidate; `ratio` to the fastest objective."""

    label: str
    timing: Timing
    ratio: float
    error: float | None
    comparable: bool


def _distance(got: Arrays, reference: Arrays) -> float:
    return worst_error(got, reference[: len(got)])


def peers(name: str, reference: Arrays) -> list[Candidate]:
    """clang's objectives and Enzyme's derivatives, each checked once."""
    found = []
    for variant in VARIANTS:
        made = peer.PEERS[name](variant)
        same = variant.restrict
        found.append(Candidate(f"objective, {variant.name}", made.primal, comparable=same))
        for label, call in made.gradients.items():
            call()
            error = _distance(made.results[label](), reference)
            found.append(Candidate(f"{label}, {variant.name}", call, error, same))
    return found


def ours(problem: Problem, reference: Arrays) -> list[Candidate]:
    """llgrad's derivative, checked once."""
    error = worst_error(problem.rows(problem.derivative()), reference)
    return [Candidate(OURS, problem.derivative, error)]


def measure(candidates: list[Candidate], rounds: int, progress: Callable[[], object]) -> list[Row]:
    """Times all; ratios are to the fastest comparable objective."""
    taken = take_turns({c.label: c.call for c in candidates}, rounds, progress=progress)
    base = min(taken[c.label].median for c in candidates if c.error is None and c.comparable)
    return [Row(c.label, taken[c.label], taken[c.label].median / base, c.error, c.comparable) for c in candidates]


def fastest(rows: list[Row], tool: str) -> Row | None:
    """A tool's best right result on the sources as they are."""
    right = [r for r in rows if r.label.startswith(tool) and r.comparable and (r.error or 0.0) <= LIMIT]
    return min(right, key=lambda row: row.timing.median, default=None)


def table(title: str, rows: list[Row]) -> Table:
    """Medians with their spread, ratios, errors."""
    shown = Table(title=title, title_justify="left")
    for heading in ("", "median", "spread", "best", "ratio", "error"):
        shown.add_column(heading, justify="right" if heading else "left")
    for row in rows:
        t = row.timing
        error = "" if row.error is None else f"{row.error:.0e}"
        shown.add_row(row.label, f"{t.median * 1e3:.3f} ms", f"±{t.spread:.1%}", f"{t.best * 1e3:.3f} ms",
                      f"{row.ratio:.2f}", error, style="bold" if row.label.startswith(OURS) else None)  # fmt: skip
    return shown


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu)
    told = subprocess.run([*native.clang(), "--version"], capture_output=True, text=True, check=False).stdout
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "llvmlite": version("llvmlite"),
        "clang": told.splitlines()[0] if told else "",
        "load": load,
    }


def run(name: str, rounds: int, console: Console) -> list[Row]:
    """One problem: compiles, checks, times, prints."""
    console.print(f"{name}: compiling with llgrad, clang and Enzyme", style="dim", highlight=False)
    problem = PROBLEMS[name]()
    reference = problem.reference()
    candidates = ours(problem, reference)
    try:
        candidates = peers(name, reference) + candidates
    except native.NativeError as error:
        console.print(f"{name}: no comparison, because clang or Enzyme failed:\n{error}", style="yellow", markup=False)
        candidates.append(Candidate("objective, by llgrad", problem.objective))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"{name}: timing", total=rounds)
        rows = measure(candidates, rounds, lambda: bar.advance(task))
    console.print(table(problem.title, rows))
    enzyme, mine = fastest(rows, peer.ENZYME), fastest(rows, OURS)
    if enzyme and mine:
        share = mine.timing.median / enzyme.timing.median
        console.print(f"{mine.label} takes {share:.2f} of the time of {enzyme.label}\n", highlight=False)
    return rows


def programs(names: Sequence[str], quick: bool, console: Console) -> tuple[list[suite.Result], list[Table]]:
    """The programs of `suite`, measured and printed; the tables."""
    weighed: list[suite.Result] = []
    sizes = {name: suite.SIZES[name][1:2] if quick else suite.SIZES[name] for name in names}
    said: set[str] = set()

    def tell(message: str) -> None:
        if message not in said:
            said.add(message)
            console.print(message, style="yellow", markup=False, highlight=False)

    work = [(name, variant) for name in names for variant in list(suite.VARIANTS)[: 1 if quick else None]]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        compiling = bar.add_task("compiling", total=sum(len(suite.tools_for(n, v)) for n, v in work))
        built = suite.compiled(work, tell, lambda: bar.advance(compiling))
        timing = bar.add_task("timing", total=sum(len(sizes[name]) for name, _ in work))
        for name, variant in work:
            bar.update(timing, description=f"timing {name}, {variant}")
            weighed += suite.measure(
                name, variant, built[name, variant], sizes[name], quick, tell, lambda: bar.advance(timing)
            )
    made = (suite.times(weighed), suite.resources(weighed), suite.languages(weighed), suite.others(weighed))
    tables = [table for table in made if table.row_count]
    for table in tables:
        console.print(table)
    for line in suite.means(weighed):
        console.print(line, highlight=False)
    return weighed, tables


def plots(results: list[suite.Result], host: dict[str, Any], folder: Path, console: Console) -> list[Path]:
    """Draws them, or says why not."""
    from benchmarks.plots import draw

    load = f"load {host['load'][0]:.1f} on {host['cores']} cores" if host["load"] else ""
    try:
        drawn = draw(results, f"{host['cpu']}, {host['clang']}, {load}; CPU time", folder)
    except ImportError as error:
        console.print(f"no plots: {error} (pip install matplotlib)", style="yellow", markup=False)
        return []
    console.print(f"Plots: {', '.join(os.path.relpath(path) for path in drawn)}", highlight=False)
    return drawn


def markdown(table: Table) -> str:
    """A table of the terminal as one of Markdown, its title above it."""
    headings = [str(column.header) for column in table.columns]
    rules = ["--:" if column.justify == "right" else "---" for column in table.columns]
    rows = zip(*(column.cells for column in table.columns), strict=True)
    lines = [f"| {' | '.join(map(str, row))} |" for row in (headings, rules, *rows)]
    return "\n".join([f"### {table.title}", "", *lines])


def page(
    told: str, problems: Sequence[Table], tables: Sequence[Table], means: Sequence[str], drawn: Sequence[str]
) -> str:
    """All that was measured, as one page; `drawn` are the plots' addresses."""
    head = ["# What `make bench` measured", f"Written by `make bench`. {told} Medians; 1.00 is the primal's time.",
            "## The paper's programs, and six more"]  # fmt: skip
    closing = ["## ADBench from Python and in C", *map(markdown, problems)]
    pictures = [f"![{Path(name).stem}]({name})" for name in drawn]
    summary = "\n".join(f"- {line}" for line in means)
    return "\n\n".join([*head, summary, *pictures, *map(markdown, tables), *closing]) + "\n"


def main() -> int:
    """Parses the command line, runs everything, writes JSON and plots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = dict.fromkeys([*PROBLEMS, *suite.SIZES])
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=f"{', '.join(known)}; default: all")
    parser.add_argument("--quick", action="store_true", help="the middle size with restrict, few rounds")
    parser.add_argument("--json", type=Path, default=native.ROOT / "build" / "bench.json")
    parser.add_argument("--plots", type=Path, help="where the plots go; default: docs/plots, or build/plots if quick")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"no program is called {', '.join(unknown)}")
    console = Console()
    console = Console(width=max(console.width, 150))
    rounds = 8 if options.quick else 40
    chosen = options.names or list(known)
    host = machine()
    results = {name: run(name, rounds, console) for name in PROBLEMS if name in chosen}
    weighed, tables = programs([n for n in suite.SIZES if n in chosen], options.quick, console)
    measured = {name: [asdict(row) for row in rows] for name, rows in results.items()}
    kept = {"machine": host, "rounds": rounds, "problems": measured, "programs": [asdict(r) for r in weighed]}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(kept, indent=1) + "\n")
    told = f"{host['cpu']}, {host['cores']} cores, load {host['load'] and host['load'][0]:.1f}, {host['clang']}"
    console.print(f"{told}; CPU time.\nWritten to {os.path.relpath(options.json)}", highlight=False)
    folder = native.ROOT / ("build" if options.quick or options.names else "docs")
    drawn = plots(weighed, host, options.plots or folder / "plots", console)
    report = folder / "benchmark.md"
    problems = [table(PROBLEMS[name]().title, rows) for name, rows in results.items()]
    places = [os.path.relpath(path, folder) for path in drawn]
    report.write_text(page(f"{told}; CPU time.", problems, tables, suite.means(weighed), places))
    console.print(f"The page: {os.path.relpath(report)}", highlight=False)
    mine = [(n, r) for n, rows in results.items() for r in rows if r.label.startswith(OURS)]
    wrong = sorted({n for n, r in mine if not (r.error or 0.0) <= LIMIT} | set(suite.wrong(weighed)))
    if wrong:
        console.print(f"WRONG: {', '.join(wrong)}", style="bold red")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
