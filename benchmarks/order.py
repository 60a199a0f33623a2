"""Is it better to optimise a program before it is differentiated, or after? `python -m benchmarks.order [LOOP …]`.

Small loops (`programs/order.c`), each of which LLVM changes in its own way: branches become selects, loads are carried
from one iteration to the next, short loops are unrolled, work sinks to where it is needed. llgrad differentiates
each after LLVM's optimisation, as it does unless told otherwise, and before it (`--level 0`); the two gradients are
compared. Times are CPU time ÷ primal, medians of calls that take turns; above 1.05 the order costs time, and is red.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import native, suite
from examples.adbench.timing import take_turns

SIZE, ROUNDS, SLOWER = 20_000, 25, 1.05
SOURCE = native.ROOT / "benchmarks" / "programs" / "order.c"
LOOPS = tuple(re.findall(r"^OF\((\w+)\)", SOURCE.read_text(), re.MULTILINE))


def build(name: str) -> dict[str, suite.Program]:
    """The program by clang alone, and differentiated in both orders."""
    native.BUILD.mkdir(parents=True, exist_ok=True)
    source = native.BUILD / f"order_{name}.c"
    source.write_text(f'#define LOOP {name}\n#include "{SOURCE}"\n')
    tools, flags = (suite.OURS, suite.BEFORE), native.VECTOR_MATH
    made = {t: suite.Program(native.derived(t, source, flags, [SOURCE]).path) for t in tools}
    primal = native.compiled(source, flags, "-DPRIMAL", others=[SOURCE])
    return {suite.PRIMAL: suite.Program(primal), **made}


def measure(built: dict[str, suite.Program]) -> tuple[float, float, float]:
    """Time ÷ primal after and before optimisation, and the distance of the gradients."""
    for program in built.values():
        program.setup(SIZE)
    after, before = (built[tool].gradient() for tool in (suite.OURS, suite.BEFORE))
    calls: dict[str, Callable[[], object]] = {
        tool: p.library.primal if tool == suite.PRIMAL else p.call for tool, p in built.items()
    }
    times = {tool: timing.median for tool, timing in take_turns(calls, ROUNDS).items()}
    distance = float(np.max(np.abs(after - before)) / np.max(np.abs(before)))
    return times[suite.OURS] / times[suite.PRIMAL], times[suite.BEFORE] / times[suite.PRIMAL], distance


def main() -> int:
    """Prints the table; 1 if two gradients differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="LOOP", help=f"{', '.join(LOOPS)}; default: all")
    names = parser.parse_args().names or LOOPS
    if unknown := [n for n in names if n not in LOOPS]:
        parser.error(f"no loop is called {', '.join(unknown)}")
    table = Table("program", "optimised first", "differentiated first", "ratio", "distance")
    wrong = False
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, built in zip(names, pool.map(build, names), strict=True):
            after, before, distance = measure(built)
            wrong = wrong or not distance <= suite.LIMIT
            style = "bold red" if not distance <= suite.LIMIT else "red" if after > SLOWER * before else None
            cells = (f"{after:.2f}", f"{before:.2f}", f"{after / before:.2f}", f"{distance:.0e}")
            table.add_row(name, *cells, style=style)
    Console().print(table)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
