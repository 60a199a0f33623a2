"""Shared by all tests: a cache of their own, so that no test sees what another run compiled."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest
from choose import SLOW, slow_names


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="K/N", help="the K-th of N shares of the tests alone, K from 0 to N - 1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `slow.txt` names, and leave the tests of one share.

    A test belongs to the share that its name says, whatever other tests there are.
    """
    slow = slow_names(SLOW.read_text())
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.full)
    if (said := config.getoption("--share")) is None:
        return
    number, _, count = said.partition("/")
    if not (number.isdigit() and count.isdigit() and int(number) < int(count)):
        raise pytest.UsageError(f"--share {said}: K/N is wanted, as 2/12, with K below N")
    left = [i for i in items if crc32(i.nodeid.encode()) % int(count) != int(number)]
    config.hook.pytest_deselected(items=left)
    items[:] = [i for i in items if crc32(i.nodeid.encode()) % int(count) == int(number)]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty cache folder for the session."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("LLGRAD_CACHE")
    os.environ["LLGRAD_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["LLGRAD_CACHE"]
    else:
        os.environ["LLGRAD_CACHE"] = before


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """`source(text, name)` writes a source file."""

    def write(text: str, name: str = "code.c") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A table of what was not tested because something is not on this machine."""
    counted: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        words = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        counted[words.removeprefix("Skipped: ")] += 1
    if not counted:
        return
    terminalreporter.section("not tested here")
    for reason, count in sorted(counted.items()):
        what, _, why = re.sub(r"(?<=[\w)]): ", "\0", reason, count=1).partition("\0")
        terminalreporter.write_line(f"{count:5} {'tests' if count > 1 else 'test '}  {what:50}  {why}")
