"""Shared by all tests: a cache of their own, so that no test sees what another run compiled."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


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
