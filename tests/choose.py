"""Chooses the tests of every day by measured coverage: the cheapest that reach every line that all of them reach.

    mkdir build/measured; python -m pip install pytest-cov
    COVERAGE_FILE=build/measured/lines PYTHONPATH=tests python -m pytest -n 2 -p choose --costs build/measured \
        --cov --cov-config=tests/choose.cfg --cov-context=test --cov-report= tests
    PYTHONPATH=tests python -m choose build/measured

pytest-cov tells which lines of llgrad a test reaches, subprocesses among them. That takes hours. The last command
writes `tests/slow.txt`. It solves a weighted set cover greedily (Chvátal, 1979). First come all cheap tests and the
cheapest case of every test function: each bug that was once found has its test every day. Then, until no line is
missing, comes the test with the most new lines a second. What is left is in `slow.txt`. `conftest` marks it `full`, and
CI runs a share of it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

SLOW = Path(__file__).with_name("slow.txt")
CHEAP = 0.2
"""CPU seconds below which a test is one of every day."""
DEAR = 8.0
"""CPU seconds from which the cheapest case of a function has no right of its own to be one of every day."""


class Measured(Struct, frozen=True):
    """A test: its cost in CPU seconds and the lines that it reaches, `path:line` each."""

    name: str
    seconds: float
    lines: frozenset[str]

    @property
    def function(self) -> str:
        return self.name.partition("[")[0]


def chosen(tests: Iterable[Measured]) -> set[str]:
    """Names of the tests of every day."""
    tests = sorted(tests, key=lambda t: (t.seconds, t.name))
    cheapest = {t.function: t.name for t in reversed(tests) if t.seconds < DEAR}
    taken = {t.name for t in tests if t.seconds < CHEAP} | set(cheapest.values())
    reached = set[str]().union(*(t.lines for t in tests if t.name in taken))
    missing = {t: t.lines - reached for t in tests if t.name not in taken}
    while missing := {t: lines for t, lines in missing.items() if lines}:
        best = max(missing, key=lambda t: len(missing[t]) / t.seconds)
        taken.add(best.name)
        missing = {t: lines - best.lines for t, lines in missing.items()}
    return taken


def slow_names(text: str) -> set[str]:
    """Names of tests in the text of `slow.txt`: a function a line, its cases indented below it."""
    names, function = set[str](), ""
    for line in text.splitlines():
        if line.startswith("  "):
            names.add(f"{function}[{line[2:]}]")
        elif line and not line.startswith("#"):
            function = line.removesuffix(":")
            names |= {function} if function == line else set()
    return names


def slow_text(names: Iterable[str]) -> str:
    """The text of `slow.txt`."""
    cases = defaultdict[str, list[str]](list)
    for name in sorted(names):
        function, _, case = name.partition("[")
        cases[function] += [case.removesuffix("]")] if case else []
    lines = ["# Tests of the slow set, chosen by `choose.py`: what they reach is reached by tests of every day."]
    for function, several in cases.items():
        lines += [f"{function}:", *(f"  {case}" for case in several)] if several else [function]
    return "\n".join(lines) + "\n"


def read(folder: Path) -> list[Measured]:
    """All that was measured."""
    from coverage import CoverageData

    costs = [json.loads(line) for path in folder.glob("*.costs") for line in path.read_text().splitlines()]
    data = CoverageData(str(folder / "lines"))
    data.read()
    reached = defaultdict[str, set[str]](set)
    for path in data.measured_files():
        for line, contexts in data.contexts_by_lineno(path).items():
            for context in contexts:
                reached[PHASE.sub("", context)].add(f"{path}:{line}")
    return [Measured(name, max(seconds, 1e-3), frozenset(reached[name])) for name, seconds in costs]


PHASE = re.compile(r"(\|| \()(setup|run|call|teardown)\)?$")
"""What pytest-cov, and pytest in the environment of a subprocess, append to the name of a test."""


# The plugin of pytest that writes what each test costs.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", type=Path, metavar="FOLDER", help="where the CPU seconds of each test are written")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = _cpu_seconds()
    result = yield
    if (folder := item.config.getoption("--costs")) is not None:
        with (folder / f"{os.getpid()}.costs").open("a") as file:
            file.write(json.dumps([item.nodeid, _cpu_seconds() - before]) + "\n")
    return result


def _cpu_seconds() -> float:
    """Of this process and of those that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main(folder: Path) -> None:
    measured = read(folder)
    every_day = chosen(measured)
    SLOW.write_text(slow_text(t.name for t in measured if t.name not in every_day))
    costs = [(t.seconds, t.name in every_day) for t in measured]
    print(f"{len(every_day)} of {len(measured)} tests every day, "
          f"{sum(s for s, daily in costs if daily):.0f} of {sum(s for s, _ in costs):.0f} CPU seconds")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
