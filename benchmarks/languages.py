"""`make bench-languages`: what a gradient costs in each language, in units of the function itself.

The functions of `examples/languages` at larger sizes: value and gradient by all floats, called from Python, against the
same function called from Python, both compiled by llgrad for this machine. CPU time, the median of several turns. The
last column is that ratio in units of C's; above 1.5 it is red.
Writes `build/languages.json`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import llgrad
from examples.adbench.timing import take_turns
from examples.languages import FUNCTIONS, LAYOUTS, function
from llgrad.errors import LlgradError

STEPS, LIMIT = 200, 1.5
Measured = dict[str, dict[str, Any]]


def active(name: str) -> tuple[Any, ...]:
    """The arguments to differentiate by."""
    rng = np.random.default_rng(3)
    if name == "network":
        n, m = 200, 300
        return (*(rng.uniform(-1, 1, shape) for shape in (n, (m, n), m, m)), 0.3)
    if name == "integrate":
        return rng.uniform(0.2, 1, 500), 0.4, 0.05
    root = rng.uniform(-1, 1, (60, 60))
    return root @ root.T + 60 * np.eye(60), rng.uniform(-1, 1, 60)


def calls(source: str, name: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The function, and its value and gradient."""
    values = active(name)
    called, arguments = function(source, name), LAYOUTS[source](name, values, STEPS)
    first = next(n for n, a in enumerate(arguments) if isinstance(a, np.ndarray))
    if source.endswith(".py"):
        import numba

        from llgrad.numba import specialised

        called = specialised(called, [numba.typeof(a) for a in arguments])
    derivative = llgrad.value_and_grad(called, wrt=tuple(range(first, first + len(values))))
    return lambda: called(*arguments), lambda: derivative(*arguments)


def measure(rounds: int) -> Measured:
    """Every function in every language that is here; the languages take turns."""
    found: Measured = {}
    for name in FUNCTIONS:
        ready: dict[str, Callable[[], Any]] = {}
        for source in LAYOUTS:
            try:
                primal, gradient = calls(source, name)
                primal(), gradient()
            except (LlgradError, ImportError) as error:
                found.setdefault(source, {})[name] = str(error).partition("\n")[0]
                continue
            ready |= {f"{source} primal": primal, f"{source} gradient": gradient}
        timed = {key: timing.median for key, timing in take_turns(ready, rounds).items()}
        for key in [k.removesuffix(" primal") for k in timed if k.endswith(" primal")]:
            primal_time, gradient_time = timed[f"{key} primal"], timed[f"{key} gradient"]
            times = {"primal": primal_time, "gradient": gradient_time, "ratio": gradient_time / primal_time}
            found.setdefault(key, {})[name] = times
    return found


def table(found: Measured) -> Table:
    """One row a language and function."""
    made = Table("function", "source", "primal, µs", "gradient, µs", "ratio", "in units of C's")
    for name in FUNCTIONS:
        of_c = found["model.c"][name]["ratio"]
        for source in found:
            match found[source].get(name):
                case {"primal": primal, "gradient": gradient, "ratio": ratio}:
                    style = "red" if ratio > LIMIT * of_c else None
                    cells = [f"{1e6 * primal:.0f}", f"{1e6 * gradient:.0f}", f"{ratio:.2f}", f"{ratio / of_c:.2f}"]
                    made.add_row(name, source, *cells, style=style)
                case str():
                    made.add_row(name, source, *["–"] * 4, style="dim")
    return made


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    found = measure(options.rounds)
    console = Console()
    console.print(table(found))
    for source, of in found.items():
        for why in dict.fromkeys(w for w in of.values() if isinstance(w, str)):
            console.print(f"{source}: {why}")
    Path("build").mkdir(exist_ok=True)
    Path("build", "languages.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
