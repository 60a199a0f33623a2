"""`make demo`: three C programs of ADBench, differentiated, judged and timed on real instances.

Ends with status 1 if a derivative is further from the independent reference, or from finite differences of the
compiled C, than rounding explains.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from .instances import read_ba, read_gmm, read_lstm
from .problems import Problem, ba_problem, finite_difference_error, gmm_problem, lstm_problem, worst_error
from .timing import Timing, take_turns

REFERENCE_LIMIT = 1e-10
DIFFERENCE_LIMIT = 1e-6
ROUNDS = 15


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one problem showed."""

    title: str
    value: str
    derivatives: int
    reference_error: float
    difference_error: float
    primal: Timing
    gradient: Timing
    tape_bytes: int
    compile_seconds: float

    @property
    def good(self) -> bool:
        """Both errors are finite and within their limits."""
        return self.reference_error <= REFERENCE_LIMIT and self.difference_error <= DIFFERENCE_LIMIT


def judge(problem: Problem, say: Callable[[str], object]) -> Verdict:
    """Differentiates, compares and times one problem, telling what it does."""
    say("  differentiating and compiling")
    outputs = problem.objective()
    value = f"{outputs[0]:.9g}" if outputs.size == 1 else f"{outputs.size} errors"
    rows = problem.rows(problem.derivative())
    say("  comparing with the independent derivative, written by hand in NumPy")
    reference_error = worst_error(rows, problem.reference())
    say("  comparing with finite differences of the compiled C along random directions")
    difference_error = finite_difference_error(problem, rows)
    say("  timing")
    taken = take_turns({"primal": problem.objective, "gradient": problem.derivative}, ROUNDS)
    return Verdict(problem.title, value, sum(row.size for row in rows), reference_error, difference_error,
                   taken["primal"], taken["gradient"], problem.tape_bytes, problem.compile_seconds)  # fmt: skip


def table(verdicts: list[Verdict]) -> Table:
    """One column a problem."""
    shown = Table(title="ADBench by llgrad", title_justify="left")
    shown.add_column("")
    for verdict in verdicts:
        shown.add_column(verdict.title, justify="right")
    lines: list[tuple[str, Callable[[Verdict], str]]] = [
        ("objective", lambda v: v.value),
        ("derivatives", lambda v: f"{v.derivatives:,}"),
        ("error: reference", lambda v: f"{v.reference_error:.1e}"),
        ("error: finite differences", lambda v: f"{v.difference_error:.1e}"),
        ("objective takes", lambda v: f"{v.primal.median * 1e3:.2f} ms"),
        ("with derivative", lambda v: f"{v.gradient.median * 1e3:.2f} ms"),
        ("ratio", lambda v: f"{v.gradient.median / v.primal.median:.2f}"),
        ("tape", lambda v: f"{v.tape_bytes:,} B"),
        ("compiling, once", lambda v: f"{v.compile_seconds:.2f} s"),
    ]
    for label, show in lines:
        shown.add_row(label, *(show(verdict) for verdict in verdicts))
    return shown


def main() -> int:
    """Runs all three problems."""
    console = Console()
    verdicts = []
    problems: list[tuple[str, Callable[[], Problem]]] = [
        ("gmm.c: Gaussian mixture, log posterior", lambda: gmm_problem(read_gmm())),
        ("ba.c: bundle adjustment, sparse Jacobian", lambda: ba_problem(read_ba())),
        ("lstm.c: character model, loss", lambda: lstm_problem(read_lstm())),
    ]
    for text, make in problems:
        console.print(text, highlight=False)
        verdicts.append(judge(make(), lambda line: console.print(line, style="dim", highlight=False)))
    console.print(table(verdicts))
    console.print("Errors are relative to the largest entry of each array of derivatives; times are medians of "
                  f"{ROUNDS} samples, in CPU time, Python's call included.", highlight=False)  # fmt: skip
    bad = [verdict.title for verdict in verdicts if not verdict.good]
    if bad:
        limits = f"(limits: {REFERENCE_LIMIT:g} and {DIFFERENCE_LIMIT:g})"
        console.print(f"WRONG: {', '.join(bad)} {limits}", style="bold red")
        return 1
    console.print("All derivatives agree.", style="green")
    return 0


if __name__ == "__main__":
    sys.exit(main())
